import type { Limit } from '../algorithms/algorithm.js';
import { sharedLimit } from '../algorithms/share.js';
import { ComportaError, show } from '../core/errors.js';
import type { Plan } from '../stores/store.js';
import type { LimiterOptions } from './limiter.js';
import { type allLimits, limitsOf } from './plan.js';

/** Subjects that live in several parts: see {@link LimiterOptions.split}. */
export interface SplitSettings {
  /** 2 to 64. Each has its part of every limit, 16 at least. */
  readonly parts: number;
  /** Which subjects, as decisions name them: 1 to 1000; all of the policy when left out. */
  readonly subjects?: readonly string[];
}

/** What splitting takes from one limit. */
export interface SplitLoss {
  /** Of the limit. */
  readonly id: string;
  /** What one request may cost at most. */
  readonly largestCost: number;
  /** Part of the limit, 0 to 1, that is refused too early where as much is asked for as it allows. */
  readonly loss: number;
}

const PARTS_MAX = 64;
const SUBJECTS_MAX = 1000;
/** Then a part refuses a tenth too early, and less with fewer. */
const LEAST_SHARE = 16;

const FIELDS: readonly string[] = ['parts', 'subjects'];

/** They are kept for a subject as a whole, in one place. */
const WHOLE = ['overrides', 'revision', 'blocks'] as const;

/** The split of a policy with these limits, its plans' among them; throws `ERR_OPTION` for what cannot be meant. */
export function checkSplit(options: LimiterOptions, all: ReturnType<typeof allLimits>): SplitSettings | undefined {
  const { split } = options;
  if (split === undefined) return undefined;
  const clash = WHOLE.find((name) => options[name] !== undefined && options[name] !== false);
  if (clash !== undefined) {
    throw refusal('split', `cannot be used with ${clash}, which a subject has in one place; give them a policy each`);
  }
  checkSettings(split);
  for (const { limit, whose } of all) checkLimit(limit, split.parts, whose);
  return split;
}

/** What splitting takes from each limit; throws a `ComportaError` for what cannot be meant. */
export function splitLosses(limits: LimiterOptions['limits'], split: SplitSettings): readonly SplitLoss[] {
  checkSettings(split);
  return limitsOf(limits, 'limits').map((limit) => {
    checkLimit(limit, split.parts);
    const largestCost = Math.floor(limit.limit / split.parts);
    const loss = limit.limit === 0 ? 0 : Math.sqrt(split.parts / (2 * Math.PI * limit.limit));
    return { id: limit.id, largestCost, loss };
  });
}

function checkSettings(split: SplitSettings): void {
  if (typeof split !== 'object' || split === null) {
    throw refusal('split', `expected { parts, subjects }, got ${show(split)}`);
  }
  const unknown = Object.keys(split).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) throw refusal(`split.${unknown}`, `unknown; there are ${FIELDS.join(', ')}`);
  const { parts, subjects } = split;
  if (!Number.isSafeInteger(parts) || parts < 2 || parts > PARTS_MAX) {
    throw refusal('split.parts', `expected a whole number from 2 to ${PARTS_MAX}, got ${show(parts)}`);
  }
  if (subjects === undefined) return;
  if (!Array.isArray(subjects) || subjects.length === 0 || subjects.length > SUBJECTS_MAX) {
    const given = Array.isArray(subjects) ? subjects.length : show(subjects);
    throw refusal('split.subjects', `expected a list of 1 to ${SUBJECTS_MAX} subjects, got ${given}`);
  }
  for (const [i, subject] of subjects.entries()) {
    if (typeof subject === 'string' && subject !== '') continue;
    throw refusal(`split.subjects[${i}]`, `expected a non-empty string, got ${show(subject)}`);
  }
}

function checkLimit(limit: Plan['limits'][number], parts: number, whose = ''): void {
  const { id, limit: whole, algorithm, settings } = limit;
  if (algorithm.holds) {
    const why = "a place that is freed is one part's, and who waits asks others";
    throw refusal('split', `cannot be used with ${algorithm.name}${whose}: ${why}`);
  }
  if (settings.prorate === true) {
    throw refusal(
      'split',
      `cannot be used with prorate (${id}${whose}): a short first period has too little for each part`,
    );
  }
  if (whole === 0) return;
  if (Math.floor(whole / parts) < LEAST_SHARE) {
    const most = Math.floor(whole / LEAST_SHARE);
    const fewer = most < 2 ? '' : `at most ${most} parts, or `;
    const fix = `write ${fewer}a limit of at least ${parts * LEAST_SHARE}`;
    const left = `leaves fewer than ${LEAST_SHARE} for each`;
    throw refusal('split.parts', `a limit (${id}${whose}) of ${whole} in ${parts} parts ${left}: ${fix}`);
  }
  if (isDivided(limit, parts)) return;
  throw refusal('split', `the limit ${id}${whose} is too large to be divided exactly; choose a smaller capacity`);
}

/** The rate of a very large bucket stays whole in its parts: together they would be faster than it. */
function isDivided(limit: Limit, parts: number): boolean {
  if (limit.algorithm.name !== 'tokenBucket') return true;
  const token = (of: Limit): number => of.args[1] as number;
  return token(sharedLimit(limit, { processes: parts, rank: 0 }, 0)) === token(limit) * parts;
}

function refusal(field: string, message: string): ComportaError {
  return new ComportaError('ERR_OPTION', `${field}: ${message}`, field);
}
