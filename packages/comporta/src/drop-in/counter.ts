import type { Limit } from '../algorithms/algorithm.js';
import { fixedWindow, slidingWindow, slidingWindowCounter, tokenBucket } from '../algorithms/limits.js';
import { UNITS_MAX } from '../algorithms/ranges.js';
import type { Decision } from '../core/decision.js';
import type { LimiterEvents } from '../core/events.js';
import { ANONYMOUS } from '../identity/subject.js';
import { wire } from '../limiter/create.js';
import type { CallOptions, Limiter } from '../limiter/limiter.js';
import type { DropInAlgorithm, Settings } from './options.js';
import { UnavailableError } from './unavailable.js';

/** What one hit is counted by. */
export interface Rule {
  readonly policy: string;
  /** Whole number; `undefined` where it is not known: then every hit is counted, and the caller decides. */
  readonly limit: number | undefined;
  readonly windowMs: number;
  /** A refusal shuts the subject out for so long. */
  readonly blockMs?: number;
}

/** A count as the served projects compare it: more hits than the limit mean refuse. */
export interface Count {
  readonly totalHits: number;
  /** Ms until a refused subject is admitted again, or an admitted one's limit is as if unused. */
  readonly resetAfterMs: number;
  readonly decision: Decision;
}

/** Limits that differ are kept as limiters; functions may name ever new ones, so older ones are made anew. */
const LIMITERS_MAX = 500;

const EVENTS = ['degraded', 'recovered', 'storeError', 'config', 'denied', 'breaker'] as const;

/** Everything fits, so that the store counts what it does not know the limit of. */
const COUNT_MAX = UNITS_MAX;

/** Name of a window among those of one policy: a shorter one would forget hits that a longer one still counts. */
const idOf = (windowMs: number): string => `${windowMs}ms`;

const limitsBy: Readonly<Record<DropInAlgorithm, (limit: number, windowMs: number) => Limit>> = {
  slidingWindow: (limit, window) => slidingWindow({ limit, window, id: idOf(window) }),
  slidingWindowCounter: (limit, window) => slidingWindowCounter({ limit, window, id: idOf(window) }),
  fixedWindow: (limit, window) => fixedWindow({ limit, window, align: 'first-hit', id: idOf(window) }),
  tokenBucket: (limit, every) => {
    return tokenBucket({ capacity: limit, refill: Math.max(1, limit), every, id: idOf(every) });
  },
};

/** The core of every drop-in store: counts hits by rules that may come with each of them. */
export class Counter {
  readonly #settings: Settings;
  readonly #limiters: Map<string, Limiter> = new Map();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Rejects with an {@link UnavailableError} in mode `closed`, with a `ComportaError` for limits that cannot be. */
  async hit(key: unknown, rule: Rule, call?: CallOptions): Promise<Count> {
    return toCount(await this.limiter(rule).consume(subjectOf(key), call), rule);
  }

  /** What was counted so far; counts nothing. */
  async look(key: unknown, rule: Rule): Promise<Count> {
    return toCount(await this.limiter(rule).peek(subjectOf(key), { cost: 0 }), rule);
  }

  /** The limiter of a rule, which is made when it is first asked for. */
  limiter(rule: Rule): Limiter {
    const { policy, limit, windowMs, blockMs } = rule;
    const name = `${policy}/${limit}/${windowMs}/${blockMs}`;
    const limiter = this.#limiters.get(name) ?? this.#make(rule);
    // To the end: what is used is not the oldest.
    this.#limiters.delete(name);
    this.#limiters.set(name, limiter);
    if (this.#limiters.size > LIMITERS_MAX) this.#dropOldest();
    return limiter;
  }

  async close(): Promise<void> {
    const limiters = [...this.#limiters.values()];
    this.#limiters.clear();
    await Promise.all(limiters.map((limiter) => limiter.close()));
    if (this.#settings.isOwn) await this.#settings.store.close();
  }

  #make({ policy, limit, windowMs, blockMs }: Rule): Limiter {
    const { store, algorithm, calls, clock } = this.#settings;
    const isLocal = (calls.onStoreFailure ?? 'local') === 'local';
    const counting = limit === undefined && isLocal && store.kind !== 'memory' ? { instances: 1 } : {};
    const blocks = blockMs === undefined ? {} : { blocks: { after: 1, within: blockMs, lasts: blockMs } };
    const limits =
      limit === undefined ? limitsBy.fixedWindow(COUNT_MAX, windowMs) : limitsBy[algorithm](limit, windowMs);
    const limiter = wire({ ...calls, ...counting, ...blocks, policy, limits, store }, clock);
    this.#listen(limiter);
    return limiter;
  }

  #listen(limiter: Limiter): void {
    const { onEvent } = this.#settings;
    if (onEvent === undefined) return;
    const listen = <K extends keyof LimiterEvents>(name: K): void => {
      limiter.on(name, (event) => {
        // Every limiter of a store tells of its breakers.
        const isRepeated = name === 'breaker' && this.#limiters.values().next().value !== limiter;
        if (!isRepeated) onEvent(name, event);
      });
    };
    for (const name of EVENTS) listen(name);
  }

  #dropOldest(): void {
    const [[name, limiter] = []] = this.#limiters;
    if (name === undefined) return;
    this.#limiters.delete(name);
    void limiter?.close();
  }
}

/** Requests without a key are counted together, never let through. */
export function subjectOf(key: unknown): string {
  return key === undefined || key === null || key === '' ? ANONYMOUS : String(key);
}

function toCount(decision: Decision, { limit: known, windowMs }: Rule): Count {
  const { allowed, degraded, binding, retryAfterMs, id } = decision;
  if (degraded?.mode === 'closed') throw new UnavailableError(degraded.cause);
  const limit = known ?? COUNT_MAX;
  if (!allowed) return { totalHits: limit + 1, resetAfterMs: retryAfterMs ?? windowMs, decision };
  if (binding === undefined) return { totalHits: 1, resetAfterMs: windowMs, decision };
  const least = id.startsWith('.') ? 0 : 1;
  return { totalHits: Math.max(least, limit - binding.remaining), resetAfterMs: binding.resetAfterMs, decision };
}
