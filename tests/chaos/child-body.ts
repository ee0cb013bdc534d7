/** A child's side of its conversation with the test. */
export interface Channel {
  send(message: unknown): void;
  receive<T>(): Promise<T>;
}

/**
 * Runs the body of a child, hands over its result and lets go of the test: from then on the process
 * ends as soon as nothing is left that keeps it alive, and never if something is.
 */
export async function runChild<Args, Result>(body: (args: Args, channel: Channel) => Promise<Result>): Promise<void> {
  const inbox: unknown[] = [];
  const wanted: ((message: unknown) => void)[] = [];
  let finished = false;
  process.on('disconnect', () => {
    if (!finished) process.exit(3);
  });
  process.on('message', ({ message }: { readonly message: unknown }) => {
    const next = wanted.shift();
    if (next === undefined) inbox.push(message);
    else next(message);
  });
  const channel: Channel = {
    send: (message) => void process.send?.({ message }),
    receive: <T>() =>
      new Promise<T>((resolve) => {
        if (inbox.length > 0) resolve(inbox.shift() as T);
        else wanted.push(resolve as (message: unknown) => void);
      }),
  };
  const result = await body(JSON.parse(process.argv[2] ?? '{}') as Args, channel);
  finished = true;
  process.send?.({ result }, undefined, undefined, () => process.disconnect());
}
