import { ComportaError } from '../core/errors.js';
import { type Algorithm, type Param, TTL_MARGIN_MS } from './algorithm.js';
import { DURATION_MAX_MS, UNITS_MAX, USE_MAX } from './ranges.js';
import { shareOf } from './share.js';

/**
 * Whole drops stand for fractions of tokens: with refill and `every` (in ticks) reduced by their gcd g,
 * one token is every/g drops and each tick brings refill/g drops, so no fraction is ever lost. `used`
 * counts what is missing from a full bucket, so that a raised capacity is there at once. `token` keeps
 * the scale that `used` was counted in.
 */
interface State {
  used: number;
  atUs: number;
  token: number;
}

/** Buckets that fill within a second count in microseconds, for a millisecond may fill them; others in milliseconds. */
const FAST_MS = 1000;
const TICKS_US = { fast: 1, ordinary: 1000 } as const;

const params: Readonly<Record<string, Param>> = {
  capacity: { kind: 'integer', min: 0, max: UNITS_MAX, doc: 'most tokens the bucket holds: the largest burst' },
  refill: { kind: 'integer', min: 1, max: UNITS_MAX, doc: 'tokens added, evenly spread, in each `every`' },
  every: { kind: 'duration', min: 1, max: DURATION_MAX_MS, doc: 'time in which `refill` tokens are added' },
};

export const tokenBucket: Algorithm<State> = {
  name: 'tokenBucket',
  tag: 'tb',
  clock: 'us',
  drains: true,
  stepUs: ([, , , tick]) => tick as number,
  args: ['full', 'token', 'rate', 'tick'],
  params,

  compile(settings) {
    const { capacity, refill, every } = settings as { capacity: number; refill: number; every: number };
    const tick = (capacity * every) / refill < FAST_MS ? TICKS_US.fast : TICKS_US.ordinary;
    const ticks = (every * 1000) / tick;
    const divisor = gcd(refill, ticks);
    const [token, rate] = [ticks / divisor, refill / divisor];
    const full = capacity * token;
    const fillMs = Math.max(1, Math.ceil(((full / rate) * tick) / 1000));
    if (full + rate > 2 ** 52 || fillMs > DURATION_MAX_MS) {
      throw new ComportaError(
        'ERR_LIMIT',
        'tokenBucket: an empty bucket must fill within 10 years and capacity * every / gcd(refill, every) stay ' +
          'below 2^52; lower capacity or every',
        'capacity',
      );
    }
    return { args: [full, token, rate, tick], limit: capacity, windowMs: fillMs };
  },

  evaluate(state, nowUs, cost, args) {
    // Read one by one: this is done for each decision, and taking a list apart costs ten times as much.
    const full = args[0] as number;
    const token = args[1] as number;
    const rate = args[2] as number;
    const tick = args[3] as number;
    const atUs = Math.floor(nowUs / tick) * tick;
    let used = 0;
    let stepped = false;
    if (state !== undefined) {
      used = state.token === token ? state.used : rescale(state, token);
      stepped = atUs < state.atUs;
      const refilled = stepped ? 0 : Math.floor((atUs - state.atUs) / tick) * rate;
      used = refilled >= used ? 0 : used - refilled;
    }
    const needed = cost * token;
    // After a capacity was lowered more may be used than fits: it drains first, so that no process forgets it.
    const fits = needed <= Math.max(0, full - used);
    const retryAfterMs = needed > full ? -1 : fits ? 0 : toMs(needed - full + used, rate, tick);
    return { state: { used, atUs, token }, retryAfterMs, stepped };
  },

  commit(state, _now, cost, _args, _holder, stored = state) {
    stored.used = Math.min(USE_MAX, state.used + cost * state.token);
    stored.atUs = state.atUs;
    stored.token = state.token;
    return stored;
  },

  sum: {
    words: ['used'],
    before: ([used], rest, atUs, args) => {
      const token = args[1] as number;
      return { used: (used as number) - rest * token, atUs, token };
    },
  },

  describe({ used }, _now, args) {
    const full = args[0] as number;
    const token = args[1] as number;
    const rate = args[2] as number;
    const tick = args[3] as number;
    const remaining = Math.max(0, Math.floor((full - used) / token));
    return {
      remaining,
      resetAfterMs: toMs(used, rate, tick),
      nextAfterMs: toMs(Math.min(used, (remaining + 1) * token - full + used), rate, tick),
    };
  },

  assume(remaining, resetAfterMs, nowUs, args) {
    const [full, token, rate, tick] = args as [number, number, number, number];
    const within = (ms: number): number => Math.min(USE_MAX, Math.floor((ms * 1000) / tick) * rate);
    // What takes longer than a full bucket, beyond the rounding to milliseconds, is a debt.
    const isDebt = within(resetAfterMs - 1) >= full;
    const used = isDebt ? within(resetAfterMs) : Math.min(full - remaining * token, within(resetAfterMs));
    return { used, atUs: nowUs - (nowUs % tick), token };
  },

  ttlMs: (_state, _now, _args, resetAfterMs) => resetAfterMs + TTL_MARGIN_MS,

  capacity: ([full, token]) => (full as number) / (token as number),

  /** A part of the capacity and of the rate: a token takes as many times the drops as there are processes. */
  share([full, token, rate, tick], part, atLeast) {
    const capacity = shareOf((full as number) / (token as number), part, atLeast);
    const slow = (token as number) * part.processes;
    // Beyond whole numbers the rate stays; the capacity alone then keeps the share.
    const scaled = capacity * slow > 2 ** 52 ? (token as number) : slow;
    return [capacity * scaled, scaled, rate as number, tick as number];
  },

  /** Whole tokens that may have been refilled since the charge are not given back: the bucket may hold them already. */
  refund(state, now, amount, chargedAtUs, args) {
    const { used, atUs, token } = tokenBucket.evaluate(state, now, 0, args).state;
    const [, , rate, tick] = args as [number, number, number, number];
    const elapsed = Math.floor((atUs - (chargedAtUs - (chargedAtUs % tick))) / tick);
    const refilled = Math.floor((elapsed * rate) / token);
    const back = elapsed < 0 ? 0 : Math.min(used, (amount - refilled) * token);
    return back <= 0 ? undefined : { used: used - back, atUs, token };
  },
};

/** Time in which so many drops come: whole ticks, then whole milliseconds. */
function toMs(drops: number, rate: number, tick: number): number {
  return Math.ceil((Math.ceil(drops / rate) * tick) / 1000);
}

/** Drops counted under an older `every` keep their worth in tokens. */
function rescale(state: State, token: number): number {
  const whole = Math.floor(state.used / state.token);
  return Math.min(USE_MAX, whole * token + Math.ceil(((state.used - whole * state.token) * token) / state.token));
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}
