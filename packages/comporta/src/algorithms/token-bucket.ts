import { ComportaError } from '../core/errors.js';
import { type Algorithm, type Param, TTL_MARGIN_MS } from './algorithm.js';
import { DURATION_MAX_MS, UNITS_MAX } from './ranges.js';

/**
 * Whole drops stand for fractions of tokens: with refill/every reduced by their gcd g, one token is
 * every/g drops and each ms brings refill/g drops. `used` counts what is missing from a full bucket,
 * so that a raised capacity is there at once. `token` keeps the scale that `used` was counted in.
 */
interface State {
  readonly used: number;
  readonly atMs: number;
  readonly token: number;
}

const params: Readonly<Record<string, Param>> = {
  capacity: { kind: 'integer', min: 0, max: UNITS_MAX, doc: 'most tokens the bucket holds: the largest burst' },
  refill: { kind: 'integer', min: 1, max: UNITS_MAX, doc: 'tokens added, evenly spread, in each `every`' },
  every: { kind: 'duration', min: 1, max: DURATION_MAX_MS, doc: 'time in which `refill` tokens are added' },
};

export const tokenBucket: Algorithm<State> = {
  name: 'tokenBucket',
  tag: 'tb',
  clock: 'ms',
  args: ['full', 'token', 'rate'],
  params,

  compile(settings) {
    const { capacity, refill, every } = settings as { capacity: number; refill: number; every: number };
    const divisor = gcd(refill, every);
    const [token, rate] = [every / divisor, refill / divisor];
    const full = capacity * token;
    if (full + rate > 2 ** 52 || full / rate > DURATION_MAX_MS) {
      throw new ComportaError(
        'ERR_LIMIT',
        'tokenBucket: an empty bucket must fill within 10 years and capacity * every / gcd(refill, every) stay below 2^52; lower capacity or every',
        'capacity',
      );
    }
    return { args: [full, token, rate], limit: capacity, windowMs: Math.max(1, Math.ceil(full / rate)) };
  },

  evaluate(state, now, cost, args) {
    const [full, token, rate] = args as [number, number, number];
    let used = 0;
    let stepped = false;
    if (state !== undefined) {
      used = Math.min(full, rescale(state, token));
      stepped = now < state.atMs;
      const elapsed = stepped ? 0 : now - state.atMs;
      used = elapsed >= used / rate ? 0 : used - elapsed * rate;
    }
    const needed = cost * token;
    const retryAfterMs = needed > full ? -1 : Math.max(0, Math.ceil((needed - full + used) / rate));
    return { state: { used, atMs: now, token }, retryAfterMs, stepped };
  },

  commit: ({ used, token }, now, cost) => ({ used: used + cost * token, atMs: now, token }),

  describe({ used }, _now, args) {
    const [full, token, rate] = args as [number, number, number];
    const level = full - used;
    return {
      remaining: Math.floor(level / token),
      resetAfterMs: Math.ceil(used / rate),
      nextAfterMs: Math.ceil(Math.min(used, token - (level % token)) / rate),
    };
  },

  ttlMs: ({ used }, _now, args) => Math.ceil(used / (args[2] as number)) + TTL_MARGIN_MS,

  refund(state, now, amount, _atUs, args) {
    const { used, token } = tokenBucket.evaluate(state, now, 0, args).state;
    return used === 0 ? undefined : { used: Math.max(0, used - amount * token), atMs: now, token };
  },
};

/** Drops counted under an older `every` keep their worth in tokens. */
function rescale(state: State, token: number): number {
  if (state.token === token) return state.used;
  const whole = Math.floor(state.used / state.token);
  return whole * token + Math.ceil(((state.used - whole * state.token) * token) / state.token);
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}
