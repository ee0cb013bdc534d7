import { type Algorithm, type Param, TTL_MARGIN_MS } from './algorithm.js';
import { DURATION_MAX_MS, LOG_ENTRIES_MAX } from './ranges.js';

/** One admitted request. `total` is the running total of costs, this one included. */
interface Entry {
  readonly atUs: number;
  readonly total: number;
  readonly cost: number;
}

/** Oldest first. Entries that left the window stay until the next charge removes them. */
interface State {
  entries: Entry[];
}

/** Beyond this, totals are counted anew, so that they stay 15 digits long. */
const TOTAL_MAX = 999_999_999_999_999;

const params: Readonly<Record<string, Param>> = {
  limit: { kind: 'integer', min: 0, max: LOG_ENTRIES_MAX, doc: 'most cost admitted in any window; memory grows up to one entry per admitted request' },
  window: { kind: 'duration', min: 1, max: DURATION_MAX_MS, doc: 'length of the window' },
};

/**
 * The exact log: at most `limit` in every window, wherever it starts. An entry at h counts while
 * now - h < window. The use of a window is last total - first total + first cost, whatever the costs.
 */
export const slidingWindow: Algorithm<State> = {
  name: 'slidingWindow',
  tag: 'sw',
  clock: 'us',
  args: ['limit', 'window'],
  params,

  compile(settings) {
    const { limit, window } = settings as { limit: number; window: number };
    return { args: [limit, window * 1000], limit, windowMs: window };
  },

  evaluate(state, now, cost, args) {
    const [limit, window] = args as [number, number];
    const entries = state?.entries ?? [];
    const last = entries.at(-1);
    const clock = Math.max(now, last?.atUs ?? now);
    const first = firstAfter(entries, clock - window);
    const used = usedFrom(entries, first);
    const remaining = Math.max(0, limit - used);
    return {
      state: state ?? { entries },
      remaining,
      retryAfterMs: cost > limit ? -1 : cost > remaining ? waitFor(entries, first, used + cost - limit, clock, window) : 0,
      resetAfterMs: used === 0 ? 0 : toMs((last as Entry).atUs + window - clock),
      nextAfterMs: used === 0 ? 0 : waitFor(entries, first, used + remaining + 1 - limit, clock, window),
      stepped: clock > now,
      ttlMs: 0,
    };
  },

  commit(evaluation, now, cost, args) {
    const [limit, window] = args as [number, number];
    const { state } = evaluation;
    const shift = Math.max(0, (state.entries.at(-1)?.atUs ?? now) - now);
    if (shift > 0) rewrite(state, 0, shift, 0);
    const first = firstAfter(state.entries, now - window);
    if (first > 0) state.entries.splice(0, first);
    const used = usedFrom(state.entries, 0);
    let total = state.entries.at(-1)?.total ?? 0;
    if (total + cost > TOTAL_MAX) {
      rewrite(state, 0, 0, total - used);
      total = used;
    }
    const firstAtUs = state.entries[0]?.atUs ?? now;
    if (cost > 0) state.entries.push({ atUs: now, total: total + cost, cost });
    evaluation.remaining = Math.max(0, limit - used - cost);
    evaluation.resetAfterMs = toMs(window);
    evaluation.nextAfterMs = toMs(firstAtUs + window - now);
    evaluation.ttlMs = ttlMs(window);
  },

  refund(state, now, amount, atUs, args) {
    const window = args[1] as number;
    const index = state.entries.findIndex((entry) => entry.atUs === atUs && entry.cost >= amount);
    const entry = state.entries[index];
    if (entry === undefined || atUs <= now - window) return undefined;
    const rest: Entry = { atUs, total: entry.total - amount, cost: entry.cost - amount };
    rewrite(state, index + 1, 0, amount);
    state.entries.splice(index, 1, ...(rest.cost > 0 ? [rest] : []));
    return { state, ttlMs: ttlMs(window) };
  },

  sizeOf: (state) => state.entries.length,
};

const toMs = (us: number): number => Math.ceil(us / 1000);
const ttlMs = (window: number): number => toMs(window) + TTL_MARGIN_MS;

/** Index of the first entry later than `bound`; the length when there is none. */
function firstAfter(entries: readonly Entry[], bound: number): number {
  return bisect(0, entries.length, (i) => (entries[i] as Entry).atUs > bound);
}

function usedFrom(entries: readonly Entry[], first: number): number {
  const [head, last] = [entries[first], entries.at(-1)];
  return head === undefined || last === undefined ? 0 : last.total - head.total + head.cost;
}

/** Ms until entries worth `excess` have left the window. */
function waitFor(entries: readonly Entry[], first: number, excess: number, clock: number, window: number): number {
  const head = entries[first] as Entry;
  const target = head.total - head.cost + excess;
  const leaving = bisect(first, entries.length - 1, (i) => (entries[i] as Entry).total >= target);
  return toMs((entries[leaving] as Entry).atUs + window - clock);
}

/** Moves the entries from `from` on back in time by `shift` and their totals down by `base`. */
function rewrite(state: State, from: number, shift: number, base: number): void {
  for (let i = from; i < state.entries.length; i++) {
    const { atUs, total, cost } = state.entries[i] as Entry;
    state.entries[i] = { atUs: atUs - shift, total: total - base, cost };
  }
}

/** Smallest i in [low, high) for which `holds`, else `high`; `holds` must be monotonic. */
function bisect(low: number, high: number, holds: (i: number) => boolean): number {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
