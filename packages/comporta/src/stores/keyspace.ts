import type { Part } from '../algorithms/algorithm.js';
import { ComportaError } from '../core/errors.js';
import { digestHex } from '../core/hash.js';
import { memo } from '../identity/memo.js';
import { SLOTS, slotOf } from '../redis/slot.js';
import type { Plan } from './store.js';

/** First part of every key; the number is the version of the stored layout. */
export const KEY_PREFIX = 'cmp1';

/** Longer subjects (after escaping) are stored as a digest, so that a key stays short whoever chose it. */
const SUBJECT_LENGTH_MAX = 128;

/** One decision asks several times for its subject. Few, since each of them may be long. */
const DIGESTS_MAX = 8;
const digestOf = memo(DIGESTS_MAX, (subject) => digestHex(subject));

const SAFE = /^[A-Za-z0-9._~@/+=,-]+$/;
const UNSAFE_CHARACTER = /[^A-Za-z0-9._~@/+=,-]/gu;

/**
 * Text of a subject inside a key. Injective: `%` is only ever written by the escape, and a digest
 * starts with `%h`, which no escape produces, an HMAC with `%k`, and a part with `%p`. With a secret every subject
 * becomes an HMAC.
 */
export function escapeSubject(subject: string, secret?: string): string {
  if (secret !== undefined) return `%k${digestHex(subject, secret)}`;
  if (subject.length <= SUBJECT_LENGTH_MAX && SAFE.test(subject)) return subject;
  const escaped = subject.length > 4096 ? '' : subject.replace(UNSAFE_CHARACTER, escapeCharacter);
  return escaped !== '' && escaped.length <= SUBJECT_LENGTH_MAX ? escaped : `%h${digestOf(subject)}`;
}

/**
 * Name of a subject in this process's memory: itself, or a digest of a long one, filled up to a length
 * that no subject kept as it is can have.
 */
export function shortSubject(subject: string): string {
  return subject.length <= SUBJECT_LENGTH_MAX ? subject : shortened(subject);
}

const shortened = (subject: string): string => digestOf(subject).padEnd(SUBJECT_LENGTH_MAX + 1, '.');

/** So many tries miss a range of slots once in millions of times, and then the load is a little less even. */
const SALTS_MAX = 1000;

/**
 * Text of one part of a split subject inside a key. Its salt puts the parts into equal ranges of slots, one each, so
 * that they spread over the masters; the range of the first is the subject's own. The same wherever it is reckoned.
 */
export function partOf(escaped: string, { processes: parts, rank }: Part): string {
  const rangeOf = (text: string): number => Math.floor((slotOf(text) * parts) / SLOTS);
  const wanted = (rangeOf(escaped) + rank) % parts;
  let text = '';
  for (let salt = 0; salt < SALTS_MAX; salt++) {
    text = `%p${rank}.${salt}.${escaped}`;
    if (rangeOf(text) === wanted) break;
  }
  return text;
}

/** Code points as `%` and hex digits in one of three fixed widths, so that no two texts meet. */
function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) as number;
  if (code < 0x80) return `%${code.toString(16).toUpperCase().padStart(2, '0')}`;
  return code < 0x10000
    ? `%u${code.toString(16).toUpperCase().padStart(4, '0')}`
    : `%U${code.toString(16).toUpperCase().padStart(6, '0')}`;
}

/** Keys of a subject in a plan's order. All share one hash tag, hence one slot. */
export function keysOf(plan: Plan, prefix: string): (escaped: string) => string[] {
  const tails = plan.limits.map((limit) => `}:${plan.policy}:${limit.id}:${limit.algorithm.tag}`);
  return (escaped) => tails.map((tail) => `${prefix}:{${escaped}${tail}`);
}

/** Key that marks one decision as refunded. */
export function refundKey(plan: Plan, prefix: string, escaped: string, decisionId: string): string {
  return `${prefix}:{${escaped}}:${plan.policy}:refund:${decisionId}`;
}

/** Throws `ERR_SUBJECT` unless the subject is a text of at least one character. */
export function checkSubject(subject: unknown): asserts subject is string {
  if (typeof subject !== 'string' || subject.length === 0) {
    throw new ComportaError(
      'ERR_SUBJECT',
      `subject: expected a non-empty string, got ${subject === '' ? 'an empty one' : typeof subject}; requests without one need a subject of their own, such as "anonymous"`,
      'subject',
    );
  }
}
