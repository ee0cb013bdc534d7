import { Counter, type Rule, subjectOf } from './counter.js';
import { Ledger } from './ledger.js';
import { wholeLimit, wholeWindow } from './numbers.js';
import { checkOptions, type DropInOptions, refusal, type Settings } from './options.js';

/** What express-rate-limit and hono-rate-limiter tell a store of themselves. */
export interface HitOptions {
  readonly windowMs: number;
  readonly limit: number | ((...given: never[]) => unknown);
  readonly skipFailedRequests?: boolean;
  readonly skipSuccessfulRequests?: boolean;
  /** Told by those who ask it after each request. */
  readonly requestWasSuccessful?: unknown;
}

/** What they are told of a key. */
export interface Hits {
  readonly totalHits: number;
  readonly resetTime: Date;
}

/** What a store is started with. */
interface Start {
  readonly rule: Rule;
  readonly isGivenBack: boolean;
  readonly areRefusalsGivenBack: boolean;
}

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
  readonly #givesRefusalsBack: (options: HitOptions) => boolean;
  #start: Start | undefined;
  #fault: unknown;
  #ledger: Ledger | undefined;

  /** `givesRefusalsBack`: whether the middleware calls `decrement` for requests that it refuses itself. */
  constructor(options: DropInOptions, defaultName: string, givesRefusalsBack: (options: HitOptions) => boolean) {
    this.#settings = checkOptions(options, defaultName);
    this.#counter = new Counter(this.#settings);
    this.#givesRefusalsBack = givesRefusalsBack;
    this.prefix = `${this.#settings.name}:`;
    this.localKeys = this.#settings.isOwn;
    if (this.#settings.isOwn) this.resetAll = () => this.#forgetAll();
  }

  /**
   * Called by the middleware. Throws a `ComportaError` for a limit or window that cannot be, and where another
   * middleware has started the store with others. From then on every hit is answered with that error.
   */
  init(options: HitOptions): void {
    try {
      this.#begin(this.#startOf(options));
    } catch (error) {
      this.#fault = error;
      throw error;
    }
  }

  #startOf(options: HitOptions): Start {
    const { skipFailedRequests = false, skipSuccessfulRequests = false } = options;
    const limit = typeof options.limit === 'function' ? undefined : wholeLimit(options.limit, 'limit');
    return {
      rule: { policy: this.#settings.name, limit, windowMs: wholeWindow(options.windowMs, 'windowMs') },
      isGivenBack: skipFailedRequests || skipSuccessfulRequests,
      areRefusalsGivenBack: this.#givesRefusalsBack(options),
    };
  }

  #begin(start: Start): void {
    if (this.#start === undefined) {
      this.#counter.limiter(start.rule);
      this.#start = start;
      this.#ledger = start.isGivenBack ? new Ledger(start.areRefusalsGivenBack) : undefined;
    } else if (JSON.stringify(start) !== JSON.stringify(this.#start)) {
      throw refusal('store', 'one store cannot serve limits that differ; make one for each middleware, and name them');
    }
  }

  /** Counts a hit. More hits than the limit mean refuse; such a hit cost nothing where the limit is a number. */
  async increment(key: string): Promise<Hits> {
    const { totalHits, resetAfterMs, decision } = await this.#counter.hit(key, this.#known());
    const nowMs = this.#nowMs();
    const untilMs = nowMs + resetAfterMs;
    if (decision.allowed) this.#ledger?.charged(key, decision, untilMs, nowMs);
    else this.#ledger?.refused(key, untilMs);
    return { totalHits, resetTime: new Date(untilMs) };
  }

  /**
   * Gives one hit back: the key's oldest that this process counted, where the middleware skips some requests, else the
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
    if (this.#fault !== undefined) throw this.#fault;
    if (this.#start !== undefined) return this.#start.rule;
    throw refusal('store', 'not started; pass it as the option store, and see what was logged when it was');
  }
}
