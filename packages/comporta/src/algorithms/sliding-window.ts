import { type Algorithm, type Param, TTL_MARGIN_MS } from './algorithm.js';
import { DURATION_MAX_MS, LOG_ENTRIES_MAX, TOTAL_MAX } from './ranges.js';
import { shareWindow } from './share.js';

/** One admitted request. `total` is the running total of costs, this one included. */
interface Entry {
  readonly atUs: number;
  readonly total: number;
  readonly cost: number;
}

/** Oldest first. Entries that left the window stay until the next charge removes them. */
interface State {
  readonly entries: Entry[];
}

const params: Readonly<Record<string, Param>> = {
  limit: {
    kind: 'integer',
    min: 0,
    max: LOG_ENTRIES_MAX,
    doc: 'most cost admitted in any window; memory grows up to one entry per admitted request',
  },
  window: { kind: 'duration', min: 1, max: DURATION_MAX_MS, doc: 'length of the window' },
  storage: {
    kind: 'choice',
    choices: ['compact', 'sortedSet'],
    default: 'compact',
    doc: 'how Redis keeps a log that begins; one in use goes on as it is',
  },
};

/**
 * The exact log: at most `limit` in every window, wherever it starts. An entry at h counts while
 * now - h < window. The use of a window is last total - first total + first cost, whatever the costs.
 */
export const slidingWindow: Algorithm<State> = {
  name: 'slidingWindow',
  tag: 'sw',
  clock: 'us',
  args: ['limit', 'window', 'storage'],
  params,

  compile(settings) {
    const { limit, window, storage } = settings as { limit: number; window: number; storage: number };
    return { args: [limit, window * 1000, storage], limit, windowMs: window };
  },

  evaluate(state, now, cost, args) {
    const limit = args[0] as number;
    const window = args[1] as number;
    const stored = state === undefined ? [] : state.entries;
    const ahead = Math.max(0, (lastOf(stored)?.atUs ?? now) - now);
    const entries = ahead > 0 ? moved(stored, ahead, 0) : stored;
    const used = usedFrom(entries, firstAfter(entries, now - window));
    const fits = cost <= Math.max(0, limit - used);
    const retryAfterMs = cost > limit ? -1 : fits ? 0 : waitFor(entries, used + cost - limit, now, window);
    return { state: state === undefined || ahead > 0 ? { entries } : state, retryAfterMs, stepped: ahead > 0 };
  },

  /** Works in place: copying a long log for each request would cost more than deciding. */
  commit(state, now, cost, args) {
    const { entries } = state;
    const first = firstAfter(entries, now - (args[1] as number));
    if (first > 0) entries.splice(0, first);
    let total = lastOf(entries)?.total ?? 0;
    if (total + cost > TOTAL_MAX) {
      const used = usedFrom(entries, 0);
      entries.splice(0, entries.length, ...moved(entries, 0, total - used));
      total = used;
    }
    const charged = Math.min(cost, TOTAL_MAX - total);
    if (charged > 0) entries.push({ atUs: now, total: total + charged, cost: charged });
    return state;
  },

  /** The first entry and the last are all that counts. */
  sum: {
    words: ['firstAt', 'used'],
    isLog: true,
    before([firstAt, used], rest, now) {
      const total = (used as number) - rest;
      const last = { atUs: now, total, cost: total - 1 };
      return {
        entries: firstAt === now ? [{ ...last, cost: total }] : [{ atUs: firstAt as number, total: 1, cost: 1 }, last],
      };
    },
  },

  describe({ entries }, now, args) {
    const limit = args[0] as number;
    const window = args[1] as number;
    const used = usedFrom(entries, firstAfter(entries, now - window));
    const remaining = Math.max(0, limit - used);
    if (used === 0) return { remaining, resetAfterMs: 0, nextAfterMs: 0 };
    const nextAfterMs = waitFor(entries, used + remaining + 1 - limit, now, window);
    return { remaining, resetAfterMs: toMs((lastOf(entries) as Entry).atUs + window - now), nextAfterMs };
  },

  /** All of it as late as the last entry is. */
  assume(remaining, resetAfterMs, now, [limit, window]) {
    const used = (limit as number) - remaining;
    const atUs = now + resetAfterMs * 1000 - (window as number);
    return { entries: used > 0 ? [{ atUs, total: used, cost: used }] : [] };
  },

  ttlMs: (_state, _now, args) => toMs(args[1] as number) + TTL_MARGIN_MS,

  capacity: ([limit]) => limit as number,
  share: shareWindow,

  /** Entries of one moment are alike: what one lacks, the next gives. */
  refund({ entries }, now, amount, atUs, args) {
    const first = firstAfter(entries, atUs - 1);
    const worth = usedFrom(entries.slice(0, firstAfter(entries, atUs)), first);
    if (atUs <= now - (args[1] as number) || worth < amount) return undefined;
    let rest: readonly Entry[] = entries;
    for (let left = amount; left > 0; ) {
      const part = Math.min((rest[first] as Entry).cost, left);
      rest = lessened(rest, first, part);
      left -= part;
    }
    return { entries: [...rest] };
  },

  /** One walk over the log, however many there are. */
  refundAll({ entries }, now, charges, args) {
    const due = new Map<number, number>();
    for (const { atUs, cost } of charges) {
      if (atUs > now - (args[1] as number)) due.set(atUs, (due.get(atUs) ?? 0) + cost);
    }
    const rest: Entry[] = [];
    let taken = 0;
    for (const { atUs, total, cost } of entries) {
      const part = Math.min(cost, due.get(atUs) ?? 0);
      if (part > 0) due.set(atUs, (due.get(atUs) as number) - part);
      taken += part;
      if (cost > part) rest.push({ atUs, total: total - taken, cost: cost - part });
    }
    return taken === 0 ? undefined : { entries: rest };
  },

  /** The newest entries go first, the last of them in part. */
  reward({ entries }, now, amount, args) {
    const rest = [...entries];
    for (let left = amount; left > 0; ) {
      const last = rest.at(-1);
      if (last === undefined || last.atUs <= now - (args[1] as number)) break;
      const part = Math.min(last.cost, left);
      rest.pop();
      if (last.cost > part) rest.push({ atUs: last.atUs, total: last.total - part, cost: last.cost - part });
      left -= part;
    }
    return rest.length === entries.length && rest.at(-1) === entries.at(-1) ? undefined : { entries: rest };
  },

  sizeOf: (state) => state.entries.length,
};

const toMs = (us: number): number => Math.ceil(us / 1000);

/** `at(-1)` is slower. */
const lastOf = (entries: readonly Entry[]): Entry | undefined => entries[entries.length - 1];

/** Index of the first entry later than `bound`; the length when there is none. */
function firstAfter(entries: readonly Entry[], bound: number): number {
  return firstAbove(bound, timeOf, entries, 0, entries.length);
}

function usedFrom(entries: readonly Entry[], first: number): number {
  const head = entries[first];
  const last = lastOf(entries);
  return head === undefined || last === undefined ? 0 : last.total - head.total + head.cost;
}

/** Ms until entries worth `excess` have left the window. */
function waitFor(entries: readonly Entry[], excess: number, now: number, window: number): number {
  const first = firstAfter(entries, now - window);
  const head = entries[first] as Entry;
  const target = head.total - head.cost + excess;
  const leaving = firstAbove(target - 1, totalOf, entries, first, entries.length - 1);
  return toMs((entries[leaving] as Entry).atUs + window - now);
}

/** Entries further back in time by `shift`, with totals lower by `base`. */
function moved(entries: readonly Entry[], shift: number, base: number): Entry[] {
  return entries.map(({ atUs, total, cost }) => ({ atUs: atUs - shift, total: total - base, cost }));
}

/** Takes `amount`, at most its cost, from an entry, and puts the totals right on the side where fewer entries are. */
function lessened(entries: readonly Entry[], index: number, amount: number): Entry[] {
  const { atUs, total, cost } = entries[index] as Entry;
  const [before, after] = [entries.slice(0, index), entries.slice(index + 1)];
  const isLate = before.length >= after.length;
  const rest = cost > amount ? [{ atUs, total: isLate ? total - amount : total, cost: cost - amount }] : [];
  return isLate ? [...before, ...rest, ...moved(after, 0, amount)] : [...moved(before, 0, -amount), ...rest, ...after];
}

const timeOf = ({ atUs }: Entry): number => atUs;
const totalOf = ({ total }: Entry): number => total;

/**
 * Smallest index in [from, to) of an entry of which `number`, which grows along the log, is above `bound`; else `to`.
 * Goes from the front in steps that double, and then by halves: what is looked for mostly stands near the front, and
 * each look at an entry may have to wait for memory.
 */
function firstAbove(
  bound: number,
  number: (entry: Entry) => number,
  entries: readonly Entry[],
  from: number,
  to: number,
): number {
  let low = from;
  let high = to;
  for (let i = low; i < high; i += i - from + 1) {
    if (number(entries[i] as Entry) > bound) high = i;
    else low = i + 1;
  }
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (number(entries[middle] as Entry) > bound) high = middle;
    else low = middle + 1;
  }
  return low;
}
