import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { watch } from './reap.js';

/** What goes between a test and its workers. */
export type Envelope =
  | { readonly kind: 'start'; readonly index: number; readonly args: unknown }
  | { readonly kind: 'message'; readonly message: unknown }
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'failure'; readonly text: string };

const loader = new URL('../../scripts/lib/typescript.mjs', import.meta.url).href;

/** A child process that runs one module; see `worker.ts` for the other side. */
export class Worker<Result = unknown> {
  readonly index: number;
  /** What the worker's function returned; rejects when it threw or the process ended early. */
  readonly result: Promise<Result>;
  readonly #process: ChildProcess;
  readonly #inbox: unknown[] = [];
  #stderr = '';
  #wanted: ((message: unknown) => void)[] = [];

  /** Use {@link startWorkers}. */
  constructor(index: number, module: string, args: unknown) {
    this.index = index;
    const stdio = ['ignore', 'inherit', 'pipe', 'ipc'] as const;
    this.#process = fork(module, { execArgv: ['--import', loader], serialization: 'advanced', stdio: [...stdio] });
    this.#process.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr += chunk;
    });
    watch(this.#process);
    this.result = new Promise((resolve, reject) => {
      this.#process.on('message', (envelope: Envelope) => {
        if (envelope.kind === 'message') this.#deliver(envelope.message);
        if (envelope.kind === 'result') resolve(envelope.result as Result);
        if (envelope.kind === 'failure') reject(new Error(`worker ${index}: ${envelope.text}`));
      });
      this.#process.once('error', reject);
      this.#process.once('close', (code, signal) => {
        reject(new Error(`worker ${index} ended without a result (${signal ?? code})\n${this.#stderr}`));
      });
    });
    // A test may end a worker whose result it never asks for.
    this.result.catch(() => {});
    this.#post({ kind: 'start', index, args });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** What it wrote to standard error so far. */
  get stderr(): string {
    return this.#stderr;
  }

  send(message: unknown): void {
    this.#post({ kind: 'message', message });
  }

  /** The next message of the worker, in the order sent; rejects when the worker fails first. */
  receive<T>(): Promise<T> {
    const message = new Promise<T>((resolve) => {
      if (this.#inbox.length > 0) resolve(this.#inbox.shift() as T);
      else this.#wanted.push(resolve as (message: unknown) => void);
    });
    const failure = new Promise<never>((_, reject) => {
      this.result.catch(reject);
    });
    return Promise.race([message, failure]);
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.#process.kill(signal);
  }

  /** Ends the process; resolves when it is gone. */
  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.kill();
    await ended;
  }

  #post(envelope: Envelope): void {
    if (this.#process.connected) this.#process.send(envelope, () => {});
  }

  #deliver(message: unknown): void {
    const wanted = this.#wanted.shift();
    if (wanted === undefined) this.#inbox.push(message);
    else wanted(message);
  }
}

/** Several workers on one module. */
export class Workers<Result = unknown> {
  readonly all: readonly Worker<Result>[];

  constructor(all: readonly Worker<Result>[]) {
    this.all = all;
  }

  send(message: unknown): void {
    for (const worker of this.all) worker.send(message);
  }

  /** The next message of each. */
  receive<T>(): Promise<T[]> {
    return Promise.all(this.all.map((worker) => worker.receive<T>()));
  }

  /** All results, by index; rejects with the first failure. */
  results(): Promise<Result[]> {
    return Promise.all(this.all.map((worker) => worker.result));
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map((worker) => worker.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/**
 * Starts `count` Node processes on a module, TypeScript or not, that calls `runWorker`. `args` is any
 * structured-cloneable value, or a function that gives each worker its own.
 */
export function startWorkers<Result>(
  count: number,
  module: URL,
  args: unknown | ((index: number) => unknown),
): Workers<Result> {
  const argsOf = (index: number): unknown => (typeof args === 'function' ? args(index) : args);
  const start = (_: unknown, index: number): Worker<Result> => new Worker(index, fileURLToPath(module), argsOf(index));
  return new Workers(Array.from({ length: count }, start));
}
