import { sha1Hex } from '../core/hash.js';
import type { Limit } from './algorithm.js';
import * as charges from './compose-charges.js';
import { type Gates, NO_GATES, openGates, type Place, punish } from './compose-gates.js';
import { areSummed, each, many, noted, notedSum } from './compose-many.js';
import { argumentsBefore, carry, checkSpans, headOf, numbered, numberOf, twin, withHelpers } from './compose-parts.js';
import * as settings from './compose-settings.js';

/** A script as it is sent: its text, and the SHA-1 that a server caches it under. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

export type Operation =
  | 'consume'
  | 'consumeMany'
  | 'peek'
  | 'take'
  | 'reset'
  | keyof typeof charges
  | keyof typeof settings;

const cache: Map<string, Script> = new Map();
/** The same by the limits themselves, whose names take longer to put together than to look up. */
const cacheOf: WeakMap<readonly Limit[], Map<string, Script>> = new WeakMap();

/**
 * One script that decides all limits of one subject: every limit evaluates, then all commit or none.
 * It is specialised for the sequence of algorithms, so a single limit pays nothing for the others.
 */
export function compose(operation: Operation, limits: readonly Limit[], gates: Gates = NO_GATES): Script {
  const { areBlockable, arePunished, haveTerms } = gates;
  const own = cacheOf.get(limits) ?? new Map<string, Script>();
  if (own.size === 0) cacheOf.set(limits, own);
  const kind = `${operation} ${Number(areBlockable)}${Number(arePunished)}${Number(haveTerms)}`;
  const known = own.get(kind);
  if (known !== undefined) return known;
  const id = `${kind} ${limits.map(({ algorithm }) => algorithm.name).join(' ')}`;
  const script = cache.get(id) ?? scriptOf(TEXTS[operation](limits, gates));
  cache.set(id, script);
  own.set(kind, script);
  return script;
}

const scriptOf = (text: string): Script => ({ text, sha: sha1Hex(text) });

const TEXTS: Readonly<Record<Operation, (limits: readonly Limit[], gates: Gates) => string>> = {
  consume: (limits, gates) => {
    const place = { limits, gates, keysBefore: limits.length, firstArgument: 3, mayWrite: true };
    return `#!lua\n${opening(place)}${withHelpers(limits, evaluateAll(limits) + rest(place, answer))}`;
  },
  consumeMany: (limits, gates) => {
    const place = { limits, gates, keysBefore: limits.length, firstArgument: 3, mayWrite: true };
    const isSum = areSummed(limits, gates);
    const tell = isSum ? notedSum(limits) : noted;
    return many(place, openGates(place) + evaluateAll(limits) + rest(place, tell, isSum));
  },
  peek: (limits, gates) => {
    const place = { limits, gates, keysBefore: limits.length, firstArgument: 3, mayWrite: false };
    const text = evaluateAll(limits) + describeAll(limits, answer);
    return `#!lua flags=no-writes\n${opening(place)}${withHelpers(limits, text)}`;
  },
  take: (limits, gates) => {
    const place = { limits, gates, keysBefore: limits.length, firstArgument: 3, mayWrite: true };
    return `#!lua\n${opening(place)}${withHelpers(limits, takeAll(limits))}`;
  },
  ...charges,
  ...settings,
  // Freeing memory must work on a full server too.
  reset: () =>
    `#!lua flags=allow-oom\nlocal removed = 0\nfor i = 1, #KEYS do removed = removed + redis.call('DEL', KEYS[i]) end\nreturn removed\n`,
};

/** Everything before the limits are evaluated. */
const opening = (place: Place): string =>
  headOf(place.limits) + checkSpans(place.limits, place.firstArgument) + openGates(place);

/** What a decision does once its limits are evaluated. */
const rest = (place: Place, tell: typeof answer, isSum = false): string =>
  commitAll(place.limits, isSum) + punish(place) + describeAll(place.limits, tell);

function evaluateAll(limits: readonly Limit[], isAgain = false): string {
  const parts = limits.map((limit, i) => {
    const { name, args } = limit.algorithm;
    const from = 3 + argumentsBefore(limits, i);
    const read = args.map((_, j) => numberOf(from + j)).join(', ');
    const results = [`retry${i}`, `stepped${i}`, ...carry(name).map((word) => word + i)];
    const locals = `local ${numbered(args, i)} = ${read}\nlocal ${results.join(', ')}\n`;
    return (isAgain ? '' : locals) + inline(limit, i, 'evaluate', results);
  });
  return parts.join('');
}

/** All commit or none; a state that the clock stepped behind is stored again in any case. */
function commitAll(limits: readonly Limit[], isSum: boolean): string {
  const admitted = limits.map((_, i) => `retry${i} == 0`).join(' and ');
  const parts = limits.map((limit, i) => {
    const commit = commitOf(limit, i);
    return `if admitted or stepped${i} then\n${isSum ? each(limit, commit) : commit}end\n`;
  });
  return `local admitted = ${admitted}\nif not admitted then cost = 0 end\n${parts.join('')}`;
}

function commitOf(limit: Limit, i: number): string {
  const results = carry(limit.algorithm.name).map((word) => word + i);
  return inline(limit, i, 'commit', results);
}

/**
 * Charges as much of the cost as every limit has room for; the word is how much that is, and the numbers are those
 * that a request of cost 1 would find then.
 */
function takeAll(limits: readonly Limit[]): string {
  const refused = limits.map((_, i) => `retry${i} ~= 0`).join(' or ');
  const rooms = limits.map(({ algorithm }, i) => (algorithm.holds ? '' : `, remaining${i}`)).join('');
  const tell = (numbers: readonly string[]) => `return { us, granted, ${numbers.join(', ')} }\n`;
  return `local granted = cost
cost = 1
${evaluateAll(limits)}${describeAll(limits, () => '')}if ${refused} then granted = 0 end
granted = math.min(granted${rooms})
if granted > 0 then
cost = granted
${limits.map(commitOf).join('')}cost = 1
${evaluateAll(limits, true)}end
${describeAll(limits, tell, true)}`;
}

const answer = (numbers: readonly string[]): string => `return { us, ${numbers.join(', ')} }\n`;

function describeAll(limits: readonly Limit[], tell: typeof answer, isAgain = false): string {
  const parts = limits.map((limit, i) => {
    const results = ['remaining', 'reset', 'nextAfter'].map((word) => word + i);
    const locals = `local ${results.join(', ')}\n`;
    return (isAgain ? '' : locals) + inline(limit, i, 'describe', results);
  });
  const numbers = limits.flatMap((_, i) => [`remaining${i}`, `retry${i}`, `reset${i}`, `nextAfter${i}`]);
  return parts.join('') + tell(numbers);
}

/** The body of one function in place of a call, which would cost a closure and a call per request. */
function inline(limit: Limit, i: number, name: 'evaluate' | 'commit' | 'describe', results: readonly string[]): string {
  const { parameters, body, result } = twin(limit.algorithm.name).functions[name];
  const values: Readonly<Record<string, string>> = { key: `KEYS[${i + 1}]`, now: limit.algorithm.clock, cost: 'cost' };
  const inputs = parameters.map((word) => values[word] ?? word + i);
  return `do\nlocal ${parameters.join(', ')} = ${inputs.join(', ')}\n${body}${results.join(', ')} = ${result}\nend\n`;
}
