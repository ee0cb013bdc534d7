import { argumentsAt, type Limit, type Sum } from '../algorithms/algorithm.js';
import { FAILED, SHUT } from '../algorithms/compose-many.js';
import { StoreError } from '../core/waiting.js';
import { toStoreError } from '../redis/errors.js';
import type { ActionReply, StoreReply } from './store.js';

/** A script's reply: the server's time, then four numbers per limit. Anything else is a fault of the client. */
export function decode(reply: unknown, limits: number): StoreReply {
  if (Array.isArray(reply) && reply.length === 2) return shut(reply);
  if (!Array.isArray(reply) || reply.length !== 1 + 4 * limits) throw unexpected(reply);
  return { atUs: toNumber(reply[0]), numbers: toNumbers(reply, 1, reply.length) };
}

/** A gate was shut: a number is what is left of a block, in ms, and what follows `=` the terms that stand. */
function shut([atUs, word]: readonly unknown[]): StoreReply {
  const about = typeof word === 'string' && word[0] === '=' ? { terms: word.slice(1) } : { blockedMs: toNumber(word) };
  return { atUs: toNumber(atUs), numbers: [], ...about };
}

/** The replies of several decisions that were made at one time. Fewer numbers than theirs tell the sum of all. */
export function decodeMany(
  reply: unknown,
  limits: readonly Limit[],
  costs: readonly { readonly cost: string }[],
): { readonly atUs: number; readonly entries: readonly (StoreReply | StoreError)[] } {
  const width = 4 * limits.length;
  if (!Array.isArray(reply)) throw unexpected(reply);
  const atUs = toNumber(reply[0]);
  if (reply.length === 1 + sumWidth(limits)) {
    const values = toNumbers(reply, 1, reply.length);
    return { atUs, entries: repliesOf(atUs, limits, values, costs.length, Number(costs[0]?.cost)) };
  }
  if (reply.length !== 1 + costs.length * width) throw unexpected(reply);
  const entries: (StoreReply | StoreError)[] = [];
  for (let at = 1; at < reply.length; at += width) entries.push(entryOf(reply, at, width, atUs));
  return { atUs, entries };
}

const sumWidth = (limits: readonly Limit[]): number =>
  limits.reduce((width, { algorithm }) => width + (algorithm.sum?.words.length ?? Number.NaN), 0);

/** What each of several decisions of one cost was told, by what stood after the last of them. */
function repliesOf(atUs: number, limits: readonly Limit[], values: readonly number[], count: number, cost: number) {
  const replies = Array.from({ length: count }, () => ({ atUs, numbers: new Array<number>(4 * limits.length) }));
  const nowMs = Math.floor(atUs / 1000);
  let from = 0;
  for (const [i, limit] of limits.entries()) {
    const { algorithm } = limit;
    const sum = algorithm.sum as Sum<unknown>;
    const now = algorithm.clock === 'us' ? atUs : nowMs;
    const args = argumentsAt(limit, nowMs);
    const own = values.slice(from, from + sum.words.length);
    from += own.length;
    let rest = count * cost;
    for (const { numbers } of replies) {
      rest -= cost;
      const { remaining, resetAfterMs, nextAfterMs } = algorithm.describe(sum.before(own, rest, now, args), now, args);
      numbers[i * 4] = remaining;
      numbers[i * 4 + 1] = 0;
      numbers[i * 4 + 2] = resetAfterMs;
      numbers[i * 4 + 3] = nextAfterMs;
    }
  }
  return replies;
}

function entryOf(reply: readonly unknown[], from: number, width: number, atUs: number): StoreReply | StoreError {
  const first = toNumber(reply[from]);
  if (first === SHUT) return shut([atUs, reply[from + 1]]);
  if (first === FAILED) return toStoreError(new Error(String(reply[from + 1])));
  return { atUs, numbers: toNumbers(reply, from, from + width) };
}

/** As {@link decode}, with a word after the time. */
export function decodeAction(reply: unknown, limits: number): ActionReply {
  if (Array.isArray(reply) && reply.length === 2 && limits > 0) return { ...shut(reply), word: 0 };
  if (!Array.isArray(reply) || reply.length !== 2 + 4 * limits) throw unexpected(reply);
  const [atUs, word, ...numbers] = reply as unknown[];
  return { atUs: toNumber(atUs), word: toNumber(word), numbers: numbers.map(toNumber) };
}

/** Part of a reply. Copied in one go: an array that grows by one at a time takes several times its room. */
function toNumbers(reply: readonly unknown[], from: number, to: number): readonly number[] {
  const numbers = reply.slice(from, to);
  for (let i = 0; i < numbers.length; i++) numbers[i] = toNumber(numbers[i]);
  return numbers as number[];
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
