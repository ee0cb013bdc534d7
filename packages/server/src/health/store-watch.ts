import type { Limiter, Store, StoreFailure } from 'comporta';
import type { Gate } from 'comporta/http';
import type { Log } from '../log.js';
import { nowMs, pause, repeat, within } from '../time.js';
import { Missed } from './missed.js';

const FIRST_WAIT_MS = 1000;
const FIRST_EVERY_MS = 25;
const EVERY_MS = 1000;

/** Says in one line when the store stops answering, and in one when it is back. */
export class StoreWatch {
  readonly #store: Store;
  readonly #log: Log;
  readonly #missed: Missed = new Missed();
  #isStarting = false;
  #sinceMs = 0;
  #stopListening: readonly (() => void)[] = [];
  #stopPolling: () => void = () => undefined;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Waits a moment for the store, so that first requests find it; then goes on without and keeps asking. */
  async start(): Promise<void> {
    const fault = await this.#firstAnswer();
    if (fault === undefined) return;
    this.#sinceMs = nowMs();
    this.#isStarting = true;
    this.#log.warn('the store does not answer yet: starting without it, policies follow their failure mode', {
      detail: fault,
    });
    this.#stopPolling = repeat(EVERY_MS, () => void this.#askAgain());
  }

  /** Listens to the limiters of a new gate; the ones of the old gate are forgotten. */
  follow(gate: Gate<never> | Gate): void {
    for (const stop of this.#stopListening) stop();
    this.#missed.clear();
    this.#stopListening = [...gate.limiters.values()].flatMap((limiter) => this.listen(limiter));
  }

  /** Listens to one limiter, also of no gate, until what it answers is called. */
  listen(limiter: Limiter): readonly (() => void)[] {
    return [
      limiter.on('degraded', (failure) => this.#lost(failure)),
      limiter.on('config', ({ policy, node, degraded: { mode, detail } }) => {
        this.#log.error('the store refuses calls, and only a person can mend it', { policy, node, mode, detail });
      }),
      limiter.on('recovered', ({ policy, node }) => {
        if (this.#missed.remove(policy, node)) this.#found();
      }),
    ];
  }

  close(): void {
    this.#stopPolling();
  }

  async #firstAnswer(): Promise<string | undefined> {
    const endMs = nowMs() + FIRST_WAIT_MS;
    for (;;) {
      const fault = await this.#fault();
      if (fault === undefined || nowMs() >= endMs) return fault;
      await pause(FIRST_EVERY_MS);
    }
  }

  async #askAgain(): Promise<void> {
    if ((await this.#fault()) !== undefined) return;
    this.#stopPolling();
    this.#isStarting = false;
    // Policies notice with their next request only; at the start the store's own answer is enough.
    this.#missed.clear();
    this.#found();
  }

  async #fault(): Promise<string | undefined> {
    try {
      await within(EVERY_MS, this.#store.ping(), 'no answer');
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** Only the first loss is told: by then everybody looks. */
  #lost({ policy, node, degraded: { mode, cause, detail } }: StoreFailure): void {
    const isFirst = !this.#isStarting && this.#missed.isEmpty;
    this.#missed.add(policy, node);
    if (!isFirst) return;
    this.#sinceMs = nowMs();
    // A complaint has a line of its own.
    if (cause === 'misconfigured') return;
    const fields = { policy, node, mode, cause, detail };
    this.#log.warn('the store does not answer: policies follow their failure mode', fields);
  }

  #found(): void {
    if (this.#isStarting || !this.#missed.isEmpty) return;
    this.#log.info('the store answers again', { after: `${Math.round((nowMs() - this.#sinceMs) / 100) / 10}s` });
  }
}
