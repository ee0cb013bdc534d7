import { onAbort } from '../core/abort.js';
import type { Decision } from '../core/decision.js';
import { ComportaError, show } from '../core/errors.js';
import { notQueued } from './decision.js';
import { type Place, WaitQueue, type WaitSource } from './wait-queue.js';

/** Settings of {@link Limiter.wait}. */
export interface WaitOptions {
  /** Whole number from 0 (a look, which never waits) to 2^53 - 1; 1 by default. */
  readonly cost?: number;
  /** Longest wait, in ms: at least 0, `Infinity` for as long as it takes; 30 000 by default. */
  readonly maxWaitMs?: number;
  /** Aborting gives up the place at once: the promise rejects with the signal's reason, as `fetch` does. */
  readonly signal?: AbortSignal;
}

const MAX_WAIT_MS = 30_000;
const WAITERS_MAX = 1_000_000;
const WAITERS_DEFAULT = 10_000;

/** What a limiter's waiting needs beside the limiter itself. */
export interface WaitSettings extends Pick<WaitSource, 'clock' | 'isShared'> {
  readonly maxWaiters: number;
}

/** All that wait for one limiter: a queue per subject. */
export class WaitingRoom {
  readonly #policy: string;
  readonly #maxWaiters: number;
  readonly #source: WaitSource;
  readonly #queues: Map<string, WaitQueue> = new Map();
  #waiters = 0;

  constructor(
    policy: string,
    { maxWaiters, clock, isShared }: WaitSettings,
    limiter: Omit<WaitSource, keyof WaitSettings>,
  ) {
    this.#policy = policy;
    this.#maxWaiters = maxWaiters;
    this.#source = { clock, isShared, ...limiter };
  }

  /** Subjects that somebody waits for. */
  get subjects(): number {
    return this.#queues.size;
  }

  /** Resolves when admitted or refused; rejects with the signal's reason. The cost is at least 1 and can fit. */
  wait(subject: string, cost: number, { maxWaitMs = MAX_WAIT_MS, signal }: WaitOptions): Promise<Decision> {
    if (signal?.aborted === true) return Promise.reject(signal.reason);
    if (this.#waiters >= this.#maxWaiters) {
      const refusal = notQueued(this.#policy, subject, cost);
      this.#source.tell(refusal);
      return Promise.resolve(refusal);
    }
    const queue = this.#queueOf(subject);
    return new Promise<Decision>((resolve, reject) => {
      this.#waiters++;
      const settled = () => {
        this.#waiters--;
        forget?.();
      };
      const place: Place = {
        cost,
        maxWaitMs,
        deadlineMs: this.#source.clock.nowUs() / 1000 + maxWaitMs,
        resolve: (decision) => {
          settled();
          this.#source.tell(decision);
          resolve(decision);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      };
      const forget = signal === undefined ? undefined : onAbort(signal, () => queue.leave(place, signal.reason));
      queue.join(place);
    });
  }

  /** A place under a limit of a subject was given back: whoever is first may have it at once. */
  nudge(subject: string): void {
    this.#queues.get(subject)?.nudge();
  }

  /** A subject may have more room than its last refusal said: whoever is first asks now. */
  recheck(subject: string): void {
    this.#queues.get(subject)?.recheck();
  }

  close(): void {
    const error = new ComportaError('ERR_CLOSED', `limiter ${this.#policy} was closed while a call waited`);
    for (const queue of [...this.#queues.values()]) queue.close(error);
  }

  #queueOf(subject: string): WaitQueue {
    const known = this.#queues.get(subject);
    if (known !== undefined) return known;
    const made = new WaitQueue(subject, this.#source, () => this.#queues.delete(subject));
    this.#queues.set(subject, made);
    return made;
  }
}

const WAIT_OPTIONS: ReadonlySet<string> = new Set(['cost', 'maxWaitMs', 'signal']);

/** Throws `ERR_OPTION` for what cannot be meant; the cost and the signal are checked as for any call. */
export function checkWaitOptions(options: WaitOptions): WaitOptions {
  if (typeof options !== 'object' || options === null) {
    throw refusal('options', `expected { cost, maxWaitMs, signal }, got ${show(options)}`);
  }
  for (const name in options) {
    if (!WAIT_OPTIONS.has(name)) throw refusal(name, 'unknown option of wait; there are cost, maxWaitMs and signal');
  }
  const { maxWaitMs } = options;
  if (maxWaitMs !== undefined && !(typeof maxWaitMs === 'number' && maxWaitMs >= 0)) {
    throw refusal('maxWaitMs', `expected milliseconds of at least 0, or Infinity, got ${show(maxWaitMs)}`);
  }
  return options;
}

/** The most that may wait; throws `ERR_OPTION` unless it is a whole number from 0 to 1 000 000. */
export function checkMaxWaiters(maxWaiters: number = WAITERS_DEFAULT): number {
  if (Number.isSafeInteger(maxWaiters) && maxWaiters >= 0 && maxWaiters <= WAITERS_MAX) return maxWaiters;
  throw refusal('maxWaiters', `expected a whole number from 0 to ${WAITERS_MAX}, got ${show(maxWaiters)}`);
}

function refusal(field: string, message: string): ComportaError {
  return new ComportaError('ERR_OPTION', `${field}: ${message}`, field);
}
