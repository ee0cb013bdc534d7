import type { Part } from '../algorithms/algorithm.js';
import type { DegradedCause } from '../core/decision.js';
import { StoreError } from '../core/waiting.js';
import type { Outcome } from '../redis/http-batch.js';
import { type Answer, statusError } from '../redis/http-post.js';
import type { ActionReply, StoreReply } from './store.js';

const KINDS: readonly DegradedCause[] = [
  'timeout',
  'unavailable',
  'misconfigured',
  'aborted',
  'breaker-open',
  'overloaded',
];

/** One outcome for each call; throws when the request as a whole was refused, or somebody else answered. */
export function outcomesOf({ status, body }: Answer, count: number): readonly Outcome[] {
  const { replies, detail } = (body ?? {}) as { readonly replies?: unknown; readonly detail?: unknown };
  const failed = statusError(status, typeof detail === 'string' ? detail : undefined);
  if (failed !== undefined) throw failed;
  if (!Array.isArray(replies) || replies.length !== count) throw unexpected();
  return replies.map(outcomeOf);
}

function outcomeOf(reply: { readonly value?: unknown; readonly error?: unknown } | null): Outcome {
  if (typeof reply !== 'object' || reply === null) return { error: unexpected() };
  if (reply.error === undefined) return { value: reply.value };
  const { kind, message, isUnsent } = (reply.error ?? {}) as Readonly<Record<string, unknown>>;
  if (!KINDS.includes(kind as DegradedCause)) return { error: unexpected() };
  // The service answers: it has breakers of its own for what is behind it.
  const about = { isUnsent: isUnsent === true, isAnswer: true };
  return { error: new StoreError(kind as DegradedCause, String(message), about) };
}

/** A store's reply; `limits` is how many it must tell of, unless a gate was shut. */
export function toReply(value: unknown, limits: number): StoreReply {
  const reply = value as StoreReply | null;
  const isGated = reply?.blockedMs !== undefined || reply?.terms !== undefined;
  const isReply =
    isWhole(reply?.atUs) &&
    Array.isArray(reply?.numbers) &&
    reply.numbers.every(isWhole) &&
    reply.numbers.length === (isGated ? 0 : 4 * limits) &&
    (reply.blockedMs === undefined || isWhole(reply.blockedMs)) &&
    (reply.terms === undefined || typeof reply.terms === 'string');
  if (!isReply) throw unexpected();
  return reply as StoreReply;
}

/** As {@link toReply}, with a word. */
export function toActionReply(value: unknown, limits: number): ActionReply {
  toWhole((value as ActionReply | null)?.word);
  return toReply(value, limits) as ActionReply;
}

export function toWhole(value: unknown): number {
  if (!isWhole(value)) throw unexpected();
  return value;
}

export function toParts(value: unknown, policies: number): readonly Part[] {
  const isPart = (part: Part | null) => isWhole(part?.processes) && isWhole(part?.rank);
  if (!Array.isArray(value) || value.length !== policies || !value.every(isPart)) throw unexpected();
  return value;
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

function unexpected(): StoreError {
  const what = 'the answer is none of a store that serveStore() serves: is the URL right, and the version the same?';
  return new StoreError('unavailable', what);
}
