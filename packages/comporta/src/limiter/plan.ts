import type { Limit } from '../algorithms/algorithm.js';
import { checkName, withIds } from '../algorithms/limits.js';
import { LIMITS_MAX } from '../algorithms/written.js';
import { type Duration, durationMs } from '../core/duration.js';
import { ComportaError, show } from '../core/errors.js';
import type { Blocks, Plan } from '../stores/store.js';
import type { LimiterOptions } from './limiter.js';

const PLANS_MAX = 1000;
const AFTER_MAX = 1_000_000;

/** What a store needs to know of a policy; throws naming the setting that cannot be meant. */
export function planOf(options: LimiterOptions): Plan {
  checkName(options.policy, 'policy');
  const { blocks, overrides, revision, planOf: chooser } = options;
  if (overrides !== undefined && typeof overrides !== 'boolean') throw refusal('overrides', 'true or false', overrides);
  if (revision !== undefined && !(Number.isSafeInteger(revision) && revision >= 0)) {
    throw refusal('revision', 'a whole number from 0 to 2^53 - 1', revision);
  }
  if (chooser !== undefined && typeof chooser !== 'function') throw refusal('planOf', 'a function', chooser);
  return {
    policy: options.policy,
    limits: limitsOf(options.limits, 'limits'),
    ...(blocks === undefined ? {} : { blocks: blocksOf(blocks) }),
    ...(overrides === true || revision !== undefined ? { haveTerms: true } : {}),
  };
}

/** The limits of the plans, by name; `own` are those of the policy. */
export function plansOf({ plans = {} }: LimiterOptions, own: Plan['limits']): ReadonlyMap<string, Plan['limits']> {
  if (typeof plans !== 'object' || plans === null || Array.isArray(plans)) {
    throw refusal('plans', 'an object of limits by name', plans);
  }
  const entries = Object.entries(plans);
  if (entries.length > PLANS_MAX) throw refusal('plans', `at most ${PLANS_MAX} plans`, entries.length);
  return new Map(
    entries.map(([name, limits]) => {
      checkName(name, 'plans');
      const of = limitsOf(limits, `plans.${name}`);
      checkIds(own, of, `plans.${name}`);
      return [name, of];
    }),
  );
}

/** Each limit of a policy, and in words whose it is: nothing for the policy's own. */
export function allLimits(
  own: Plan['limits'],
  plans: ReadonlyMap<string, Plan['limits']>,
): readonly { readonly limit: Plan['limits'][number]; readonly whose: string }[] {
  const ofPlans = [...plans].flatMap(([name, limits]) =>
    limits.map((limit) => ({ limit, whose: ` of plan ${show(name)}` })),
  );
  return [...own.map((limit) => ({ limit, whose: '' })), ...ofPlans];
}

/** One id is one count: two algorithms cannot share it. */
function checkIds(own: Plan['limits'], limits: Plan['limits'], field: string): void {
  const clash = limits.find(({ id, algorithm }) =>
    own.some((limit) => limit.id === id && limit.algorithm !== algorithm),
  );
  if (clash === undefined) return;
  const message = `${field}: the id ${show(clash.id)} is that of another algorithm in limits; give it one of its own`;
  throw new ComportaError('ERR_LIMIT', message, field);
}

/** One limit or several with their ids; throws `ERR_LIMIT` unless there are 1 to 8. */
export function limitsOf(given: LimiterOptions['limits'], field: string): Plan['limits'] {
  const limits = Array.isArray(given) ? (given as readonly Limit[]) : [given as Limit];
  const isLimit = (limit: Limit | undefined) => typeof limit?.algorithm?.evaluate === 'function';
  if (limits.length >= 1 && limits.length <= LIMITS_MAX && limits.every(isLimit)) return withIds(limits, field);
  throw new ComportaError(
    'ERR_LIMIT',
    `${field}: expected 1 to ${LIMITS_MAX} limits made by tokenBucket(), slidingWindow() and the like, got ${show(given)}`,
    field,
  );
}

function blocksOf(given: NonNullable<LimiterOptions['blocks']>): Blocks {
  if (given === true) return {};
  if (typeof given !== 'object' || given === null) throw refusal('blocks', 'true or { after, within, lasts }', given);
  const { after, within, lasts } = given;
  if (!Number.isSafeInteger(after) || after < 1 || after > AFTER_MAX) {
    throw refusal('blocks.after', `a whole number from 1 to ${AFTER_MAX}`, after);
  }
  return { refusals: after, withinMs: positive(within, 'blocks.within'), forMs: positive(lasts, 'blocks.lasts') };
}

function positive(duration: Duration, field: string): number {
  const ms = durationMs(duration, field);
  if (ms < 1) throw refusal(field, 'at least 1 ms', duration);
  return ms;
}

function refusal(field: string, expected: string, given: unknown): ComportaError {
  return new ComportaError('ERR_OPTION', `${field}: expected ${expected}, got ${show(given)}`, field);
}
