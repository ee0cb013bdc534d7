import type { FastifyRateLimitStore } from '@fastify/rate-limit';
import { Counter, type Rule, subjectOf } from './counter.js';
import { wholeLimit, wholeWindow } from './numbers.js';
import { checkOptions, type DropInOptions, policyName, refusal } from './options.js';

export type { DropInAlgorithm, DropInOptions } from './options.js';
export { UnavailableError } from './unavailable.js';

/** What the plugin hears of a key. */
interface Current {
  readonly current: number;
  readonly ttl: number;
}

type Callback = (error: Error | null, result?: Current) => void;

/** A store of `@fastify/rate-limit`. */
export interface ComportaStore extends FastifyRateLimitStore {
  incr(key: string, callback: Callback, timeWindow: number, max: number): void;
  /** As `incr`, but counts nothing. */
  read(key: string, callback: Callback, timeWindow: number, max: number): void;
  child(routeOptions: object): ComportaStore;
}

/** What the plugin takes as `store`. */
export interface ComportaStoreClass {
  new (options: object): ComportaStore;
  /** Ends the counting of all that were made; a store that was passed in stays open. */
  close(): Promise<void>;
}

/** What the plugin tells a store of itself or of a route. */
interface PluginOptions {
  readonly max?: unknown;
  readonly timeWindow?: unknown;
  readonly ban?: number;
  readonly continueExceeding?: boolean;
  readonly exponentialBackoff?: boolean;
  readonly groupId?: string;
  readonly routeInfo?: { readonly method?: string | readonly string[]; readonly url?: string };
}

/**
 * For `app.register(rateLimit, { store: comportaStore({ store: redisStore(url), name: 'api' }), max, timeWindow })`.
 * Throws a `ComportaError` that names the option which cannot be meant.
 */
export function comportaStore(options: DropInOptions = {}): ComportaStoreClass {
  const settings = checkOptions(options, 'fastify-rate-limit');
  const counter = new Counter(settings);
  return class extends PluginStore {
    constructor(plugin: object) {
      super(counter, settings.name, plugin);
    }

    static close(): Promise<void> {
      return counter.close();
    }
  };
}

class PluginStore implements ComportaStore {
  readonly #counter: Counter;
  readonly #policy: string;
  readonly #plugin: PluginOptions;
  /** Limits that were made for no route, in the order of making. */
  #unrouted = 0;

  constructor(counter: Counter, policy: string, plugin: PluginOptions) {
    if (plugin.exponentialBackoff === true && plugin.continueExceeding !== true) {
      const message = 'not kept by this store, which counts no refused requests; use continueExceeding or ban instead';
      throw refusal('exponentialBackoff', message);
    }
    this.#counter = counter;
    this.#policy = policy;
    this.#plugin = plugin;
    // Limits that cannot be are told at the start, where they are known then.
    const { max, timeWindow } = plugin;
    if (typeof max === 'number' && typeof timeWindow === 'number') counter.limiter(this.#rule(timeWindow, max));
  }

  incr(key: string, callback: Callback, timeWindow: number, max: number): void {
    tell(this.#hit(key, timeWindow, max), callback);
  }

  read(key: string, callback: Callback, timeWindow: number, max: number): void {
    tell(this.#look(key, timeWindow, max), callback);
  }

  /** Routes with limits of their own count by themselves; those of one `groupId` together. */
  child(options: PluginOptions): ComportaStore {
    return new PluginStore(this.#counter, policyName(this.#policy, this.#partOf(options)), options);
  }

  #partOf({ groupId, routeInfo: { method, url } = {} }: PluginOptions): string {
    if (groupId) return `group-${groupId}`;
    return url === undefined ? `limit-${++this.#unrouted}` : `${method} ${url}`;
  }

  async #hit(key: string, timeWindow: number, max: number): Promise<Current> {
    const rule = this.#rule(timeWindow, max);
    const { totalHits, resetAfterMs, decision } = await this.#counter.hit(key, rule);
    if (decision.allowed) return { current: totalHits, ttl: resetAfterMs };
    if (decision.reason === 'blocked') await this.#renew(key, rule);
    const exceeded = await this.#countRefusal(key, timeWindow);
    return { current: (rule.limit ?? max) + exceeded, ttl: rule.blockMs ?? resetAfterMs };
  }

  async #look(key: string, timeWindow: number, max: number): Promise<Current> {
    const rule = this.#rule(timeWindow, max);
    const { totalHits, resetAfterMs, decision } = await this.#counter.look(key, rule);
    const refusals = this.#refusals(timeWindow);
    const isFull = !decision.allowed || decision.binding?.remaining === 0;
    if (!isFull || refusals === undefined) return { current: totalHits, ttl: resetAfterMs };
    const exceeded = (await this.#counter.look(key, refusals)).totalHits;
    return { current: exceeded === 0 ? totalHits : (rule.limit ?? max) + exceeded, ttl: resetAfterMs };
  }

  /** How many refusals there are for a ban; a refusal that cannot be counted stays a refusal. */
  async #countRefusal(key: string, timeWindow: number): Promise<number> {
    const refusals = this.#refusals(timeWindow);
    if (refusals === undefined) return 1;
    // Nobody is refused by this count.
    const count = this.#counter.hit(key, refusals, { shadow: true });
    return count.then(
      ({ totalHits }) => totalHits,
      () => 1,
    );
  }

  /** Whoever asks while shut out is shut out for longer. In an outage it ends when it would have. */
  async #renew(key: string, rule: Rule): Promise<void> {
    await this.#counter
      .limiter(rule)
      .block(subjectOf(key), rule.blockMs ?? 0)
      .catch(() => undefined);
  }

  #rule(timeWindow: number, max: number): Rule {
    const windowMs = wholeWindow(timeWindow, 'timeWindow');
    const rule = { policy: this.#policy, limit: wholeLimit(max, 'max'), windowMs };
    return this.#plugin.continueExceeding === true ? { ...rule, blockMs: windowMs } : rule;
  }

  /** Refusals are counted for a ban only: those of the last window. */
  #refusals(timeWindow: number): Rule | undefined {
    const { ban = -1 } = this.#plugin;
    if (ban < 0) return undefined;
    const windowMs = wholeWindow(timeWindow, 'timeWindow');
    return { policy: policyName(this.#policy, 'refused'), limit: ban + 1, windowMs };
  }
}

function tell(work: Promise<Current>, callback: Callback): void {
  work.then(
    (current) => callback(null, current),
    (error: Error) => callback(error),
  );
}
