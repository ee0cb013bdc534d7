import { type Algorithm, type Param, TTL_MARGIN_MS } from './algorithm.js';
import { HOLDERS_MAX } from './ranges.js';
import { shareWindow } from './share.js';

/** One holder of a place, until it gives it back or its lease ends. */
interface Held {
  readonly holder: string;
  readonly untilMs: number;
}

/** Ordered by the ends of the leases and, among equals, by the holders. Ended ones stay until the next charge. */
interface State {
  readonly held: readonly Held[];
}

type Args = readonly [limit: number, leaseMs: number];

const LEASE_MAX_MS = 86_400_000;

const params: Readonly<Record<string, Param>> = {
  limit: { kind: 'integer', min: 0, max: HOLDERS_MAX, doc: 'most requests at once' },
  lease: {
    kind: 'duration',
    min: 100,
    max: LEASE_MAX_MS,
    default: '15s',
    doc: 'how long a place is held without a sign of life; a holder that lives renews it in time',
  },
};

/**
 * At most N at once. A request takes one place whatever it costs, and holds it until it is given back; a
 * holder that dies frees its place when the lease ends.
 */
export const concurrency: Algorithm<State> = {
  name: 'concurrency',
  tag: 'cc',
  clock: 'ms',
  args: ['limit', 'lease'],
  params,
  holds: true,

  compile(settings) {
    const { limit, lease } = settings as { limit: number; lease: number };
    return { args: [limit, lease], limit, windowMs: lease };
  },

  evaluate(state, now, cost, args) {
    const [limit, lease] = args as Args;
    const stored = state?.held ?? [];
    // Only a clock that stepped back, or a lease that was made shorter, lets one end so late.
    const stepped = (stored.at(-1)?.untilMs ?? now) > now + lease;
    const held = stepped ? clamped(stored, now + lease) : stored;
    const first = firstAfter(held, now);
    const fits = cost === 0 || held.length - first < limit;
    const waitMs = limit === 0 ? -1 : (held[first]?.untilMs ?? now) - now;
    return { state: { held }, retryAfterMs: fits ? 0 : waitMs, stepped };
  },

  commit({ held }, now, cost, args, holder) {
    const living = held.slice(firstAfter(held, now));
    return { held: cost === 0 ? living : inserted(living, { holder, untilMs: now + (args as Args)[1] }) };
  },

  describe({ held }, now, args) {
    const first = firstAfter(held, now);
    const remaining = Math.max(0, (args as Args)[0] - held.length + first);
    const [next, last] = [held[first], held.at(-1)];
    if (next === undefined || last === undefined) return { remaining, resetAfterMs: 0, nextAfterMs: 0 };
    return { remaining, resetAfterMs: last.untilMs - now, nextAfterMs: next.untilMs - now };
  },

  /** Nobody knows the holders: their places are free when the last lease that was seen ends. */
  assume(remaining, resetAfterMs, now, args) {
    const count = Math.max(0, (args as Args)[0] - remaining);
    const held = Array.from({ length: count }, (_, i) => ({ holder: `?${i}`, untilMs: now + resetAfterMs }));
    return { held: held.sort(byEnd) };
  },

  ttlMs: ({ held }, now) => (held.at(-1)?.untilMs ?? now) - now + TTL_MARGIN_MS,

  capacity: ([limit]) => limit as number,
  share: shareWindow,

  refund(state, _now, _amount, _atUs, _args, holder) {
    const held = state.held.filter((each) => each.holder !== holder);
    return held.length === state.held.length ? undefined : { held };
  },

  renew(state, now, args, holder) {
    const [limit, lease] = args as Args;
    const living = state.held.slice(firstAfter(state.held, now));
    const others = living.filter((each) => each.holder !== holder);
    const isLost = others.length === living.length && living.length >= limit;
    return isLost ? undefined : { held: inserted(others, { holder, untilMs: now + lease }) };
  },

  sizeOf: ({ held }) => held.length,
};

const byEnd = (a: Held, b: Held): number => a.untilMs - b.untilMs || (a.holder < b.holder ? -1 : 1);

const clamped = (held: readonly Held[], lastMs: number): readonly Held[] =>
  held.map(({ holder, untilMs }) => ({ holder, untilMs: Math.min(untilMs, lastMs) })).sort(byEnd);

const inserted = (held: readonly Held[], one: Held): readonly Held[] => [...held, one].sort(byEnd);

/** Index of the first whose lease has not ended. */
function firstAfter(held: readonly Held[], now: number): number {
  const first = held.findIndex(({ untilMs }) => untilMs > now);
  return first < 0 ? held.length : first;
}
