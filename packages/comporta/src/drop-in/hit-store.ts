import { ComportaError } from '../core/errors.js';
import { Counter, type Rule, subjectOf, wholeLimit, wholeWindow } from './counter.js';
import { Ledger } from './ledger.js';
import { checkOptions, type DropInOptions, type Settings } from './options.js';

/** What express-rate-limit and hono-rate-limiter tell a store of themselves. */
export interface HitOptions {
  readonly windowMs: number;
  readonly limit: number | ((...given: never[]) => unknown);
  readonly skipFailedRequests?: boolean;
  readonly skipSuccessfulRequests?: boolean;
}

/** What they are told of a key. */
export interface Hits {
  readonly totalHits: number;
  readonly resetTime: Date;
}

/** The hit of a refusal is given back when its response ends, if at all; no other wait is as short. */
const REFUSAL_ENDS_MS = 5000;

/** The store contract that express-rate-limit has and hono-rate-limiter took over. */
export class HitStore {
  /** Tells the keys of one store from those of another. */
  readonly prefix: string;
  /** No other store counts the same keys. */
  readonly localKeys: boolean;
  /** Forgets every key; only where no other store or process counts in the same place. */
  readonly resetAll?: () => Promise<void>;
  readonly #settings: Settings;
  readonly #counter: Counter;
  #rule: Rule | undefined;
  #ledger: Ledger | undefined;

  constructor(options: DropInOptions, defaultName: string) {
    this.#settings = checkOptions(options, defaultName);
    this.#counter = new Counter(this.#settings);
    this.prefix = `${this.#settings.name}:`;
    this.localKeys = this.#settings.isOwn;
    if (this.#settings.isOwn) this.resetAll = () => this.#forgetAll();
  }

  /** Called by the middleware. Throws a `ComportaError` for a limit or window that cannot be. */
  init({ windowMs, limit, skipFailedRequests = false, skipSuccessfulRequests = false }: HitOptions): void {
    const rule = { policy: this.#settings.name, limit: wholeLimit(limit), windowMs: wholeWindow(windowMs) };
    this.#counter.limiter(rule);
    this.#rule = rule;
    const expectedMs = skipFailedRequests ? rule.windowMs : REFUSAL_ENDS_MS;
    this.#ledger = skipFailedRequests || skipSuccessfulRequests ? new Ledger(expectedMs) : undefined;
  }

  /** Counts a hit. More hits than the limit mean refuse; such a hit cost nothing where the limit is a number. */
  async increment(key: string): Promise<Hits> {
    const { totalHits, resetAfterMs, decision } = await this.#counter.hit(key, this.#known());
    const nowMs = this.#nowMs();
    if (decision.allowed) this.#ledger?.charged(key, decision);
    else this.#ledger?.refused(key, nowMs);
    return { totalHits, resetTime: new Date(nowMs + resetAfterMs) };
  }

  /**
   * Gives one hit back: the key's newest that this process counted, where the middleware skips some requests, else the
   * newest of anybody's. The first never rejects: when the store does not answer, the hit stays counted. The second
   * rejects with a `StoreError`.
   */
  async decrement(key: string): Promise<void> {
    const limiter = this.#counter.limiter(this.#known());
    if (this.#ledger === undefined) {
      await limiter.reward(subjectOf(key));
      return;
    }
    const decision = this.#ledger.takeBack(key, this.#nowMs());
    if (decision !== undefined) await limiter.refund(decision);
  }

  /** Hits of a key so far; `undefined` for one that has none. Counts nothing. */
  async get(key: string): Promise<Hits | undefined> {
    const { totalHits, resetAfterMs } = await this.#counter.look(key, this.#known());
    return totalHits === 0 ? undefined : { totalHits, resetTime: new Date(this.#nowMs() + resetAfterMs) };
  }

  /** Forgets a key. Rejects with a `StoreError` when the store cannot do it in time. */
  async resetKey(key: string): Promise<void> {
    this.#ledger?.forget(key);
    await this.#counter.limiter(this.#known()).reset(subjectOf(key));
  }

  /** Ends the counting; a store that was passed in stays open. */
  shutdown(): Promise<void> {
    return this.#counter.close();
  }

  /** Limiters that are made afterwards begin with nothing. */
  #forgetAll(): Promise<void> {
    this.#ledger?.forgetAll();
    return this.#counter.close();
  }

  #nowMs(): number {
    return Math.floor(this.#settings.clock.nowUs() / 1000);
  }

  #known(): Rule {
    if (this.#rule !== undefined) return this.#rule;
    const message = 'store: not started; pass it as the option store, and see what was logged when it was';
    throw new ComportaError('ERR_OPTION', message, 'store');
  }
}
