import type { Envelope } from './workers.js';

/** A worker's side of its conversation with the test. */
export interface Channel {
  readonly index: number;
  send(message: unknown): void;
  /** The test's next message, in the order sent. */
  receive<T>(): Promise<T>;
}

/**
 * Runs the body of a worker module and hands its result to the test. The process ends afterwards, and
 * also when the test goes away. `process.hrtime.bigint()` is comparable between all workers and the test.
 */
export function runWorker<Args, Result>(body: (args: Args, channel: Channel) => Promise<Result>): void {
  const inbox: unknown[] = [];
  const wanted: ((message: unknown) => void)[] = [];
  const post = (envelope: Envelope): Promise<void> =>
    new Promise((resolve) => process.send?.(envelope, undefined, undefined, () => resolve()));
  const channelOf = (index: number): Channel => ({
    index,
    send: (message) => void post({ kind: 'message', message }),
    receive: <T>() =>
      new Promise<T>((resolve) => {
        if (inbox.length > 0) resolve(inbox.shift() as T);
        else wanted.push(resolve as (message: unknown) => void);
      }),
  });
  const finish = async (envelope: Envelope): Promise<void> => {
    await post(envelope);
    process.exit();
  };
  process.on('disconnect', () => process.exit());
  process.on('message', (envelope: Envelope) => {
    if (envelope.kind === 'message') {
      const next = wanted.shift();
      if (next === undefined) inbox.push(envelope.message);
      else next(envelope.message);
    }
    if (envelope.kind === 'start') {
      body(envelope.args as Args, channelOf(envelope.index)).then(
        (result) => finish({ kind: 'result', result }),
        (error: Error) => finish({ kind: 'failure', text: error.stack ?? String(error) }),
      );
    }
  });
}
