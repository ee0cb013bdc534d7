import { type Algorithm, type Param, TTL_MARGIN_MS } from './algorithm.js';
import { DURATION_MAX_MS, UNITS_MAX, USE_MAX } from './ranges.js';
import { shareWindow } from './share.js';

interface State {
  startMs: number;
  count: number;
}

const params: Readonly<Record<string, Param>> = {
  limit: { kind: 'integer', min: 0, max: UNITS_MAX, doc: 'most cost admitted in one window' },
  window: { kind: 'duration', min: 1, max: DURATION_MAX_MS, doc: 'length of the window' },
  align: {
    kind: 'choice',
    choices: ['epoch', 'first-hit'],
    default: 'epoch',
    doc: 'windows start at multiples of their length since 1970 UTC, or with the first admitted request',
  },
};

/** N per window. Twice N can pass around a boundary: that is what a fixed window means. */
export const fixedWindow: Algorithm<State> = {
  name: 'fixedWindow',
  tag: 'fw',
  clock: 'ms',
  args: ['limit', 'window', 'aligned'],
  params,

  compile(settings) {
    const { limit, window, align } = settings as { limit: number; window: number; align: number };
    return { args: [limit, window, align === 0 ? 1 : 0], limit, windowMs: window };
  },

  evaluate(state, now, cost, args) {
    const limit = args[0] as number;
    const window = args[1] as number;
    const aligned = args[2] as number;
    let startMs = aligned === 1 ? now - (now % window) : now;
    let count = 0;
    let stepped = false;
    if (state !== undefined) {
      stepped = now < state.startMs;
      if (stepped || now - state.startMs < window) count = state.count;
      if (!stepped && count > 0 && aligned === 0) startMs = state.startMs;
    }
    const fits = cost <= Math.max(0, limit - count);
    const retryAfterMs = cost > limit ? -1 : fits ? 0 : startMs + window - now;
    return { state: { startMs, count }, retryAfterMs, stepped };
  },

  commit({ startMs, count }, _now, cost, _args, _holder, stored) {
    const charged = Math.min(USE_MAX, count + cost);
    if (stored === undefined) return { startMs, count: charged };
    stored.startMs = startMs;
    stored.count = charged;
    return stored;
  },

  sum: {
    words: ['start', 'count'],
    before: ([startMs, count], rest) => ({ startMs: startMs as number, count: (count as number) - rest }),
  },

  describe({ startMs, count }, now, args) {
    const limit = args[0] as number;
    const window = args[1] as number;
    const leftMs = count === 0 ? 0 : startMs + window - now;
    return { remaining: Math.max(0, limit - count), resetAfterMs: leftMs, nextAfterMs: leftMs };
  },

  assume(remaining, resetAfterMs, now, [limit, window]) {
    return { startMs: now + resetAfterMs - (window as number), count: (limit as number) - remaining };
  },

  ttlMs: ({ startMs }, now, args) => startMs + (args[1] as number) - now + TTL_MARGIN_MS,

  capacity: ([limit]) => limit as number,
  share: shareWindow,

  refund(state, now, amount, atUs, args) {
    const { startMs, count } = fixedWindow.evaluate(state, now, 0, args).state;
    return count === 0 || atUs < startMs * 1000 ? undefined : { startMs, count: Math.max(0, count - amount) };
  },
};
