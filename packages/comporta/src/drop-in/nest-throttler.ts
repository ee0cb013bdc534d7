import type { ThrottlerStorage } from '@nestjs/throttler';
import { Counter } from './counter.js';
import { wholeBlock, wholeLimit, wholeWindow } from './numbers.js';
import { checkOptions, type DropInOptions, policyName, type Settings } from './options.js';

export type { DropInAlgorithm, DropInOptions } from './options.js';
export { UnavailableError } from './unavailable.js';

/** What the guard hears of a key; times in whole seconds. */
export interface ThrottlerRecord {
  readonly totalHits: number;
  readonly timeToExpire: number;
  readonly isBlocked: boolean;
  readonly timeToBlockExpire: number;
}

/** A storage of `@nestjs/throttler`: see {@link comportaStorage}. */
export class ComportaStorage implements ThrottlerStorage {
  readonly #settings: Settings;
  readonly #counter: Counter;

  constructor(options: DropInOptions = {}) {
    this.#settings = checkOptions(options, 'nest-throttler');
    this.#counter = new Counter(this.#settings);
  }

  /**
   * Counts a hit; `ttl` and `blockDuration` in ms. Each throttler has a policy of its own. Rejects with a
   * `ComportaError` for numbers that cannot be meant.
   */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerRecord> {
    const blockMs = wholeBlock(blockDuration, 'blockDuration');
    const { totalHits, resetAfterMs, decision } = await this.#counter.hit(key, {
      policy: policyName(this.#settings.name, throttlerName),
      limit: wholeLimit(limit, 'limit'),
      windowMs: wholeWindow(ttl, 'ttl'),
      ...(blockMs === undefined ? {} : { blockMs }),
    });
    const isBlocked = !decision.allowed;
    const timeToExpire = Math.ceil(resetAfterMs / 1000);
    return { totalHits, timeToExpire, isBlocked, timeToBlockExpire: isBlocked ? timeToExpire : 0 };
  }

  /** Called by Nest when the application ends. */
  onApplicationShutdown(): Promise<void> {
    return this.#counter.close();
  }
}

/**
 * For `ThrottlerModule.forRoot({ throttlers, storage: comportaStorage({ store: redisStore(url), name: 'api' }) })`.
 * Throws a `ComportaError` that names the option which cannot be meant.
 */
export function comportaStorage(options?: DropInOptions): ComportaStorage {
  return new ComportaStorage(options);
}
