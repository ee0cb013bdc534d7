import { StoreError } from '../core/waiting.js';
import type { ActionReply, StoreReply } from './store.js';

/** A script's reply: the server's time, then four numbers per limit. Anything else is a fault of the client. */
export function decode(reply: unknown, limits: number): StoreReply {
  if (Array.isArray(reply) && reply.length === 2) return shut(reply);
  if (!Array.isArray(reply) || reply.length !== 1 + 4 * limits) throw unexpected(reply);
  const [atUs, ...numbers] = reply as unknown[];
  return { atUs: toNumber(atUs), numbers: numbers.map(toNumber) };
}

/** A gate was shut: a number is what is left of a block, in ms, and what follows `=` the terms that stand. */
function shut([atUs, word]: readonly unknown[]): StoreReply {
  const about = typeof word === 'string' && word[0] === '=' ? { terms: word.slice(1) } : { blockedMs: toNumber(word) };
  return { atUs: toNumber(atUs), numbers: [], ...about };
}

/** As {@link decode}, with a word after the time. */
export function decodeAction(reply: unknown, limits: number): ActionReply {
  if (Array.isArray(reply) && reply.length === 2 && limits > 0) return { ...shut(reply), word: 0 };
  if (!Array.isArray(reply) || reply.length !== 2 + 4 * limits) throw unexpected(reply);
  const [atUs, word, ...numbers] = reply as unknown[];
  return { atUs: toNumber(atUs), word: toNumber(word), numbers: numbers.map(toNumber) };
}

/** A whole number of a reply, whatever the protocol made of it. */
export function toNumber(value: unknown): number {
  const number = typeof value === 'number' ? value : Number(value);
  if (!Number.isSafeInteger(number)) throw unexpected(value);
  return number;
}

function unexpected(reply: unknown): StoreError {
  return new StoreError(
    'misconfigured',
    `the client returned ${typeof reply} where a script answers integers; does it transform replies?`,
  );
}
