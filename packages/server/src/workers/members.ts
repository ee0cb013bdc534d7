import cluster, { type Worker } from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { KEY_VARIABLE } from '../hash-key.js';
import type { Log } from '../log.js';
import { nowMs, startTimer, stopTimer, type Timer, within } from '../time.js';
import { Backoff } from './backoff.js';
import type { Addresses, Told, ToPrimary, ToWorker } from './messages.js';

/** Far above the second that a start waits for the store. */
const START_LIMIT_MS = 30_000;

export interface MembersOptions {
  readonly count: number;
  readonly log: Log;
  /** The configuration that a new worker starts with. */
  readonly text: () => string;
  readonly onMessage: (from: number, message: Told) => void;
  /** A worker that had not the chance to hear what came meanwhile. */
  readonly onReady: (id: number, startedWith: string) => void;
  readonly onLeft: (id: number) => void;
  /** None is left, and none can be started. */
  readonly onHopeless: (reason: string) => void;
}

interface Member {
  readonly worker: Worker;
  readonly text: string;
  /** From 0; the next one takes the place of one that ended. */
  readonly place: number;
  isReady: boolean;
  reason: string;
}

/** Starts the workers, and fills the places of those that end. */
export class Members {
  readonly #options: MembersOptions;
  readonly #members: Map<number, Member> = new Map();
  readonly #backoff: Backoff = new Backoff();
  readonly #timers: Set<Timer> = new Set();
  /** Hashes of all workers are made with it. */
  readonly #key: string = randomBytes(32).toString('hex');
  readonly #onChange: Set<() => void> = new Set();
  #addresses: Addresses | undefined;
  #isStopping = false;
  #failure: string | undefined;
  #lastFailure = '';

  constructor(options: MembersOptions) {
    this.#options = options;
    cluster.setupPrimary({ serialization: 'advanced', stdio: ['ignore', 'inherit', 'inherit', 'ipc'] } as object);
    // However this process ends of itself, no worker outlives it.
    process.on('exit', () => this.#killAll());
  }

  get ready(): readonly number[] {
    return [...this.#members].filter(([, { isReady }]) => isReady).map(([id]) => id);
  }

  /** Resolves to where they listen once all are ready; rejects with what the first of them says that cannot start. */
  async start(): Promise<Addresses> {
    for (let i = 0; i < this.#options.count; i++) this.#fork();
    await this.#until(() => this.#failure !== undefined || this.ready.length === this.#options.count);
    if (this.#failure === undefined) return this.#addresses ?? {};
    await this.stop(0);
    throw new Error(this.#failure);
  }

  send(to: number, message: ToWorker): void {
    const worker = this.#members.get(to)?.worker;
    // A worker that ends meanwhile is told of by its exit.
    if (worker?.isConnected()) worker.send(message, () => undefined);
  }

  kill(id: number): void {
    this.#members.get(id)?.worker.process.kill('SIGKILL');
  }

  /** Lets all finish what they do; true when all ended by themselves within the limit. */
  async stop(limitMs: number): Promise<boolean> {
    this.#isStopping = true;
    for (const timer of this.#timers) stopTimer(timer);
    for (const [id, { isReady }] of this.#members) {
      if (isReady) this.send(id, { kind: 'stop' });
      else this.kill(id);
    }
    const gone = this.#until(() => this.#members.size === 0);
    const isClean = await within(limitMs, gone, 'workers that do not end').then(
      () => true,
      () => false,
    );
    if (!isClean) this.#killAll();
    await gone;
    return isClean;
  }

  #fork(): void {
    const text = this.#options.text();
    const worker = cluster.fork({ [KEY_VARIABLE]: this.#key });
    const place = this.#freePlace();
    const member: Member = { worker, text, place, isReady: false, reason: '' };
    this.#members.set(worker.id, member);
    const limit = this.#later(START_LIMIT_MS, () => {
      member.reason = 'it was not ready in time';
      this.kill(worker.id);
    });
    worker.on('error', (error) => this.#options.log.warn('a worker cannot be reached', { error: String(error) }));
    worker.on('message', (message: ToPrimary) => {
      if (message.kind === 'ready' || message.kind === 'failed') stopTimer(limit);
      if (message.kind === 'hello')
        this.send(worker.id, { kind: 'start', text, part: { processes: this.#options.count, rank: place } });
      else if (message.kind === 'ready') this.#ready(member, message.addresses);
      else if (message.kind === 'failed') this.#failed(member, message.message);
      else this.#options.onMessage(worker.id, message);
    });
    worker.once('exit', (code, signal) => {
      stopTimer(limit);
      this.#left(member, signal ?? code);
    });
  }

  #freePlace(): number {
    const taken = [...this.#members.values()].map(({ place }) => place);
    return Array.from({ length: this.#options.count }, (_, i) => i).find((i) => !taken.includes(i)) ?? 0;
  }

  #ready(member: Member, addresses: Addresses): void {
    member.isReady = true;
    this.#addresses ??= addresses;
    this.#backoff.ready();
    this.#options.onReady(member.worker.id, member.text);
    this.#changed();
  }

  /** At the start it is the configuration or the machine, as with one process. */
  #failed(member: Member, reason: string): void {
    member.reason = reason;
    if (this.#addresses === undefined) this.#failure ??= reason;
    this.#changed();
  }

  #left({ worker, isReady, reason }: Member, how: string | number): void {
    this.#members.delete(worker.id);
    this.#options.onLeft(worker.id);
    if (!this.#isStopping)
      this.#replace(worker.process.pid ?? 0, isReady, `${how}${reason === '' ? '' : `: ${reason}`}`);
    this.#changed();
  }

  #replace(pid: number, wasReady: boolean, how: string): void {
    const waitMs = this.#backoff.died(wasReady, nowMs());
    if (!wasReady) this.#lastFailure = how;
    const what = wasReady ? 'a worker ended' : 'a worker ended before it was ready';
    const serving = this.ready.length;
    if (this.#backoff.isHopeless && serving === 0) {
      this.#options.log.error(what, { pid, how, serving });
      this.#giveUp(`workers end before they are ready: ${this.#lastFailure}`);
    } else {
      this.#options.log.error(`${what}, another one takes its place`, { pid, how, serving, waitMs });
      this.#later(waitMs, () => this.#fork());
    }
  }

  #giveUp(reason: string): void {
    if (this.#addresses === undefined) this.#failure ??= reason;
    else this.#options.onHopeless(reason);
  }

  #later(delayMs: number, run: () => void): Timer {
    const timer = startTimer(delayMs, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.add(timer);
    return timer;
  }

  #killAll(): void {
    for (const id of this.#members.keys()) this.kill(id);
  }

  #changed(): void {
    for (const look of this.#onChange) look();
  }

  #until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!holds()) return;
        this.#onChange.delete(look);
        resolve();
      };
      this.#onChange.add(look);
      look();
    });
  }
}
