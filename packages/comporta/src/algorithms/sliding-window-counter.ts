import { ComportaError } from '../core/errors.js';
import { type Algorithm, type Param, TTL_MARGIN_MS } from './algorithm.js';
import { DURATION_MAX_MS, UNITS_MAX, USE_MAX } from './ranges.js';
import { shareWindow } from './share.js';

interface State {
  startMs: number;
  current: number;
  previous: number;
}

const params: Readonly<Record<string, Param>> = {
  limit: { kind: 'integer', min: 0, max: UNITS_MAX, doc: 'most cost admitted in one window, estimated' },
  window: { kind: 'duration', min: 1, max: DURATION_MAX_MS, doc: 'length of the window' },
};

/**
 * Two fixed windows, the older weighted by how much of it the sliding window still covers.
 * An estimate: when the older window's use was not evenly spread, close to 2 * limit can pass.
 */
export const slidingWindowCounter: Algorithm<State> = {
  name: 'slidingWindowCounter',
  tag: 'sc',
  clock: 'ms',
  args: ['limit', 'window'],
  params,

  compile(settings) {
    const { limit, window } = settings as { limit: number; window: number };
    if (limit * window > 2 ** 51) {
      throw new ComportaError(
        'ERR_LIMIT',
        'slidingWindowCounter: limit * window (in ms) must stay below 2^51; lower one of them or use a token bucket',
        'limit',
      );
    }
    return { args: [limit, window], limit, windowMs: window };
  },

  evaluate(state, now, cost, args) {
    const limit = args[0] as number;
    const window = args[1] as number;
    const startMs = now - (now % window);
    let current = 0;
    let previous = 0;
    let stepped = false;
    if (state !== undefined) {
      stepped = now < state.startMs;
      const passedMs = startMs - state.startMs;
      if (passedMs <= 0) ({ current, previous } = state);
      else if (passedMs <= window) previous = state.current;
    }
    const evaluated = { startMs, current, previous };
    return { state: evaluated, retryAfterMs: waitFor(evaluated, now, cost, limit, window), stepped };
  },

  commit({ startMs, current, previous }, _now, cost, args, _holder, stored) {
    const most = Math.floor(USE_MAX / (args[1] as number));
    const charged = Math.min(most, current + cost);
    if (stored === undefined) return { startMs, current: charged, previous };
    stored.startMs = startMs;
    stored.current = charged;
    stored.previous = previous;
    return stored;
  },

  sum: {
    words: ['start', 'current', 'previous'],
    before: ([startMs, current, previous], rest) => ({
      startMs: startMs as number,
      current: (current as number) - rest,
      previous: previous as number,
    }),
  },

  describe(state, now, args) {
    const limit = args[0] as number;
    const window = args[1] as number;
    const { current, previous } = state;
    const offset = now - state.startMs;
    const used = current * window + previous * (window - offset);
    const remaining = Math.max(0, Math.floor((limit * window - used) / window));
    return {
      remaining,
      resetAfterMs: current > 0 ? 2 * window - offset : previous > 0 ? window - offset : 0,
      nextAfterMs: remaining >= limit ? 0 : waitFor(state, now, remaining + 1, limit, window),
    };
  },

  /** What ends within a window is the older window's, at its weight; else all of it is the present one's. */
  assume(remaining, resetAfterMs, now, args) {
    const [limit, window] = args as [number, number];
    const [used, offset] = [limit - remaining, now % window];
    const isOlder = resetAfterMs <= window - offset;
    return {
      startMs: now - offset,
      current: isOlder ? 0 : used,
      previous: isOlder ? Math.floor((used * window) / (window - offset)) : 0,
    };
  },

  ttlMs: ({ startMs }, now, args) => startMs + 2 * (args[1] as number) - now + TTL_MARGIN_MS,

  capacity: ([limit]) => limit as number,
  share: shareWindow,

  refund(state, now, amount, atUs, args) {
    const window = args[1] as number;
    const { startMs, current, previous } = slidingWindowCounter.evaluate(state, now, 0, args).state;
    const chargedAtMs = Math.floor(atUs / 1000);
    if (chargedAtMs >= startMs) {
      return current === 0 ? undefined : { startMs, current: Math.max(0, current - amount), previous };
    }
    if (chargedAtMs < startMs - window || previous === 0) return undefined;
    return { startMs, current, previous: Math.max(0, previous - amount) };
  },
};

/** Ms until `cost` fits if nobody else consumes: 0 now, -1 never. */
function waitFor(state: State, now: number, cost: number, limit: number, window: number): number {
  if (cost > limit) return -1;
  const { startMs, current, previous } = state;
  const offset = now - startMs;
  const room = (limit - cost - current) * window;
  if (cost === 0 || room >= previous * (window - offset)) return 0;
  const fitsAt = room < 0 ? window : window - Math.floor(room / previous);
  if (fitsAt < window) return fitsAt - offset;
  const nextRoom = (limit - cost) * window;
  const nextFitsAt = current === 0 ? 0 : Math.max(0, window - Math.floor(nextRoom / current));
  return window - offset + nextFitsAt;
}
