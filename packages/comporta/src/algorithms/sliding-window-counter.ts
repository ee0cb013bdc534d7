import { ComportaError } from '../core/errors.js';
import { type Algorithm, type Evaluation, type Param, TTL_MARGIN_MS } from './algorithm.js';
import { DURATION_MAX_MS, UNITS_MAX } from './ranges.js';

interface State {
  readonly startMs: number;
  readonly current: number;
  readonly previous: number;
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
    const [limit, window] = args as [number, number];
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
    const evaluation = { state: { startMs, current, previous }, retryAfterMs: 0, stepped, ttlMs: 0 } as Evaluation<State>;
    measure(evaluation, now, limit, window);
    evaluation.retryAfterMs = waitFor(evaluation.state, now, cost, limit, window);
    return evaluation;
  },

  commit(evaluation, now, cost, args) {
    const [limit, window] = args as [number, number];
    const { startMs, current, previous } = evaluation.state;
    evaluation.state = { startMs, current: current + cost, previous };
    measure(evaluation, now, limit, window);
  },

  refund(state, now, amount, atUs, args) {
    const [limit, window] = args as [number, number];
    const evaluation = slidingWindowCounter.evaluate(state, now, 0, args);
    const { startMs, current, previous } = evaluation.state;
    const chargedIn = Math.floor(atUs / 1000);
    if (chargedIn >= startMs && current > 0) {
      evaluation.state = { startMs, current: Math.max(0, current - amount), previous };
    } else if (chargedIn < startMs && chargedIn >= startMs - window && previous > 0) {
      evaluation.state = { startMs, current, previous: Math.max(0, previous - amount) };
    } else {
      return undefined;
    }
    measure(evaluation, now, limit, window);
    return evaluation;
  },
};

/** Sets the numbers that follow from the state alone. */
function measure(evaluation: Evaluation<State>, now: number, limit: number, window: number): void {
  const { startMs, current, previous } = evaluation.state;
  const offset = now - startMs;
  const used = current * window + previous * (window - offset);
  const remaining = Math.max(0, Math.floor((limit * window - used) / window));
  evaluation.remaining = remaining;
  evaluation.resetAfterMs = current > 0 ? 2 * window - offset : previous > 0 ? window - offset : 0;
  evaluation.nextAfterMs = remaining >= limit ? 0 : waitFor(evaluation.state, now, remaining + 1, limit, window);
  evaluation.ttlMs = 2 * window - offset + TTL_MARGIN_MS;
}

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
