import type { Store } from 'comporta';
import type { Gate } from 'comporta/http';
import type { Log } from '../log.js';
import { nowMs, pause, repeat, within } from '../time.js';

const FIRST_WAIT_MS = 1000;
const FIRST_EVERY_MS = 25;
const EVERY_MS = 1000;
const START = ' start';

/** Says in one line when the store stops answering, and in one when it is back. */
export class StoreWatch {
  readonly #store: Store;
  readonly #log: Log;
  /** Who misses the store: policies by name, or the start itself. */
  readonly #missing: Set<string> = new Set();
  #sinceMs = 0;
  #stopPolling: () => void = () => undefined;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Waits a moment for the store, so that first requests find it; then goes on without and keeps asking. */
  async start(): Promise<void> {
    const fault = await this.#firstAnswer();
    if (fault === undefined) return;
    this.#lost(START, 'the store does not answer yet: starting without it, policies follow their failure mode', {
      detail: fault,
    });
    this.#stopPolling = repeat(EVERY_MS, () => void this.#askAgain());
  }

  /** Listens to the limiters of a new gate; the ones of the old gate are forgotten. */
  follow(gate: Gate<never> | Gate): void {
    for (const name of this.#missing) if (name !== START) this.#missing.delete(name);
    for (const [name, limiter] of gate.limiters) {
      limiter.on('degraded', ({ degraded: { mode, cause, detail } }) => {
        this.#lost(name, 'the store does not answer: policies follow their failure mode', {
          policy: name,
          mode,
          cause,
          detail,
        });
      });
      limiter.on('recovered', () => this.#found(name));
    }
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
    this.#found(START);
  }

  async #fault(): Promise<string | undefined> {
    try {
      await within(EVERY_MS, this.#store.ping(), 'no answer');
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  #lost(name: string, message: string, fields: Readonly<Record<string, string>>): void {
    const isFirst = this.#missing.size === 0;
    this.#missing.add(name);
    if (!isFirst) return;
    this.#sinceMs = nowMs();
    this.#log.warn(message, fields);
  }

  #found(name: string): void {
    if (!this.#missing.delete(name)) return;
    // Policies notice with their next request only; at the start the store's own answer is enough.
    if (name === START) this.#missing.clear();
    if (this.#missing.size > 0) return;
    this.#log.info('the store answers again', { after: `${Math.round((nowMs() - this.#sinceMs) / 100) / 10}s` });
  }
}
