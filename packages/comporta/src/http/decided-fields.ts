import { withIds } from '../algorithms/limits.js';
import type { Decision, LimitState } from '../core/decision.js';
import type { Limiter } from '../limiter/limiter.js';
import type { Policy } from '../policies/policy.js';
import { describeLimits, type PolicyFields } from './fields.js';

/** Limits that no plan has are worked out when they are met; so many of them are remembered. */
const REMEMBERED_MAX = 200;

/** The fields that say by which limits a policy decides: its own, a plan's, or a subject's own. */
export class DecidedFields {
  /** All that are known ahead. */
  readonly known: readonly PolicyFields[];
  readonly #policy: string;
  readonly #own: PolicyFields;
  readonly #plans: ReadonlyMap<string, PolicyFields>;
  /** Whether the store may hold other limits than this process knows. */
  readonly #mayDiffer: boolean;
  readonly #met: Map<string, PolicyFields> = new Map();

  constructor(
    { policy, limits }: Pick<Limiter, 'policy' | 'limits'>,
    { plans = {}, overrides, revision }: Policy<never>,
  ) {
    this.#policy = policy;
    this.#own = describeLimits(policy, limits);
    this.#plans = new Map(
      Object.entries(plans).map(([name, given]) => [name, describeLimits(policy, withIds([given].flat()))]),
    );
    this.#mayDiffer = overrides === true || revision !== undefined;
    this.known = [this.#own, ...this.#plans.values()];
  }

  /** Of a decision on a request of that plan. Where nobody counted, the limits that would have applied. */
  of(plan: string | undefined, decision: Decision): PolicyFields {
    const expected = plan === undefined ? this.#own : (this.#plans.get(plan) ?? this.#own);
    if (!this.#mayDiffer || decision.limits.length === 0 || fits(expected, decision)) return expected;
    return this.known.find((fields) => fits(fields, decision)) ?? this.#meet(decision.limits);
  }

  #meet(limits: readonly LimitState[]): PolicyFields {
    const key = limits.map(({ id, limit, windowMs }) => `${id} ${limit} ${windowMs}`).join();
    const met = this.#met.get(key) ?? describeLimits(this.#policy, limits);
    if (this.#met.size >= REMEMBERED_MAX) this.#met.clear();
    this.#met.set(key, met);
    return met;
  }
}

/** While the store is away each process keeps a part of the limits, which has their ids only. */
function fits(fields: PolicyFields, { limits, degraded }: Decision): boolean {
  if (fields.limits.length !== limits.length) return false;
  return fields.limits.every(({ id, limit, windowMs }, i) => {
    const state = limits[i];
    if (state?.id !== id) return false;
    return degraded !== undefined || (state.limit === limit && state.windowMs === windowMs);
  });
}
