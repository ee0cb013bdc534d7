import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { watch } from '../support/reap.js';

const loader = new URL('../../scripts/lib/typescript.mjs', import.meta.url).href;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** From the end of the child's body to the end of its process. */
  readonly afterMs: number;
  /** Lines on standard error other than what this package has to say. */
  readonly complaints: readonly string[];
}

/** A process that is left to end by itself, unlike a worker: see `child-body.ts` for its side. */
export interface Child<Result> {
  readonly pid: number;
  /** The child's next message, in the order sent. */
  receive<T>(): Promise<T>;
  send(message: unknown): void;
  kill(): void;
  /** What its body returned. */
  readonly result: Promise<Result>;
  readonly ended: Promise<Ended>;
}

type Message = { readonly message: unknown } | { readonly result: unknown };

const complaintsIn = (stderr: string): string[] =>
  stderr.split('\n').filter((line) => line !== '' && !line.startsWith('comporta: '));

/** Starts a module that calls `runChild`. An unhandled rejection in it ends it with a code other than 0. */
export function startChild<Result>(module: URL, args: unknown): Child<Result> {
  const child = fork(fileURLToPath(module), [JSON.stringify(args)], {
    execArgv: ['--import', loader, '--unhandled-rejections=strict'],
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  watch(child);
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk;
  });
  let doneMs = 0;
  const inbox: unknown[] = [];
  const wanted: ((message: unknown) => void)[] = [];
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) =>
      resolve({ code, signal, complaints: complaintsIn(stderr), afterMs: performance.now() - doneMs }),
    );
  });
  const failed = ended.then(({ code, signal }): never => {
    throw new Error(`child ended early (${signal ?? code})\n${stderr}`);
  });
  failed.catch(() => undefined);
  const result = new Promise<Result>((resolve, reject) => {
    child.on('message', (message: Message) => {
      if ('result' in message) {
        doneMs = performance.now();
        resolve(message.result as Result);
        return;
      }
      const next = wanted.shift();
      if (next === undefined) inbox.push(message.message);
      else next(message.message);
    });
    failed.catch(reject);
  });
  result.catch(() => undefined);
  const receive = <T>(): Promise<T> => {
    const message = new Promise<T>((resolve) => {
      if (inbox.length > 0) resolve(inbox.shift() as T);
      else wanted.push(resolve as (message: unknown) => void);
    });
    return Promise.race([message, failed]);
  };
  const send = (message: unknown): void => void child.send({ message });
  return { pid: child.pid ?? 0, receive, send, kill: () => void child.kill('SIGKILL'), result, ended };
}
