import { withIds } from '../../algorithms/limits.js';
import type { Verdict } from '../../http/gate.js';
import type { RateLimitOptions } from '../../http/mount.js';
import type { Policy } from '../../policies/policy.js';

/**
 * Tells of refusals whether places are all that they lacked: then nobody knows the wait, for places come free when
 * calls end, and the wait that the limit tells is until the last lease has run out.
 */
export function lacksPlacesOnly<Request>(options: RateLimitOptions<Request>): (verdict: Verdict) => boolean {
  const policies = 'policies' in options ? options.policies : [{ name: 'default', ...options } as Policy<Request>];
  const held = new Map(policies.map((policy) => [policy.name, heldIds(policy)]));
  return ({ decisions, shadowed }) => {
    const broken = decisions.filter((decision) => !decision.allowed && !shadowed.includes(decision));
    return (
      broken.length > 0 &&
      broken.every(
        ({ policy, reason, limits }) =>
          reason === 'limit-exceeded' &&
          limits.every(({ id, retryAfterMs }) => retryAfterMs === 0 || held.get(policy)?.has(id) === true),
      )
    );
  };
}

/** Ids of the limits that count places, in any plan. */
function heldIds<Request>({ limits, plans = {} }: Policy<Request>): ReadonlySet<string> {
  const all = [limits, ...Object.values(plans)].flatMap((given) => withIds([given].flat()));
  return new Set(all.filter(({ algorithm }) => algorithm.holds === true).map(({ id }) => id));
}
