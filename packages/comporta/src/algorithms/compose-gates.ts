import type { Limit } from './algorithm.js';
import { argumentsBefore } from './compose-parts.js';

/** What a script looks at before the limits; each costs a command, so only policies that use it pay. */
export interface Gates {
  /** Subjects can be blocked. */
  readonly areBlockable: boolean;
  /** Refusals are counted, and too many of them block. Needs `areBlockable`. */
  readonly arePunished: boolean;
  /** Subjects can have limits of their own, and newer processes overrule older ones. */
  readonly haveTerms: boolean;
}

export const NO_GATES: Gates = { areBlockable: false, arePunished: false, haveTerms: false };

export const ALL_GATES: Gates = { areBlockable: true, arePunished: true, haveTerms: true };

/** Where the gates' keys and arguments stand: after those of the limits and of the operation. */
export interface Place {
  readonly limits: readonly Limit[];
  readonly gates: Gates;
  readonly keysBefore: number;
  readonly firstArgument: number;
  readonly mayWrite: boolean;
}

/**
 * Ends the script with the time and one word more where a gate is shut: the ms that a block still
 * lasts, or an equals sign and the text of terms other than those that were expected.
 */
export function openGates(place: Place): string {
  return `${place.gates.haveTerms ? checkTerms(place) : ''}${place.gates.areBlockable ? checkBlock(place) : ''}`;
}

/** Keys: the block, then (where punished) the count of refusals, then the terms. */
const blockKey = ({ keysBefore }: Place): string => `KEYS[${keysBefore + 1}]`;
const refusalsKey = ({ keysBefore }: Place): string => `KEYS[${keysBefore + 2}]`;
const termsKey = ({ keysBefore, gates }: Place): string =>
  `KEYS[${keysBefore + 1 + Number(gates.areBlockable) + Number(gates.arePunished)}]`;

/** Arguments: refusals that block, in which time, for how long; then the terms: expected, replaced, TTL. */
function argument({ limits, firstArgument, gates }: Place, of: 'punishment' | 'terms', index: number): string {
  const own = firstArgument + argumentsBefore(limits, limits.length) + index;
  return `ARGV[${of === 'terms' && gates.arePunished ? own + 3 : own}]`;
}

const checkBlock = (place: Place): string => `local blockedMs = redis.call('PTTL', ${blockKey(place)})
if blockedMs > 0 then return { us, blockedMs } end
`;

/**
 * Terms of a revision begin with `r` and are written by every decision, so that they live as long as
 * what they rule; terms of one subject begin with `o` and are written by hand.
 */
function checkTerms(place: Place): string {
  const [expected, replaced, ttl] = [0, 1, 2].map((index) => argument(place, 'terms', index));
  const key = termsKey(place);
  const renew = `if string.sub(${expected}, 1, 1) == 'r' then
if terms == ${expected} then redis.call('PEXPIRE', ${key}, ${ttl})
else redis.call('SET', ${key}, ${expected}, 'PX', tonumber(${ttl})) end
end
`;
  return `local terms = redis.call('GET', ${key}) or ''
if terms ~= ${expected} and terms ~= ${replaced} and ${replaced} ~= '*' then return { us, '=' .. terms } end
${place.mayWrite ? renew : ''}`;
}

/** After a decision: counts a refusal that waiting would have avoided; the last of too many blocks. */
export function punish(place: Place): string {
  if (!place.gates.arePunished) return '';
  const [refusals, withinMs, blockMs] = [0, 1, 2].map((index) => `tonumber(${argument(place, 'punishment', index)})`);
  const isAvoidable = place.limits.map((_, i) => `retry${i} >= 0`).join(' and ');
  return `if not admitted and ${isAvoidable} then
local refused = redis.call('INCR', ${refusalsKey(place)})
if refused == 1 then redis.call('PEXPIRE', ${refusalsKey(place)}, ${withinMs}) end
if refused >= ${refusals} then
redis.call('SET', ${blockKey(place)}, '1', 'PX', ${blockMs})
redis.call('DEL', ${refusalsKey(place)})
return { us, ${blockMs} }
end
end
`;
}
