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

/** Of the words of a service, in characters. */
const MESSAGE_LENGTH_MAX = 300;

type Redact = (text: string) => string;

/**
 * One outcome for each call; throws when the request as a whole was refused, or somebody else answered. `redact`
 * takes secrets out of a text.
 */
export function outcomesOf({ status, body }: Answer, count: number, redact: Redact): readonly Outcome[] {
  const { replies, detail } = (body ?? {}) as { readonly replies?: unknown; readonly detail?: unknown };
  const failed = statusError(status, typeof detail === 'string' ? redact(detail) : undefined);
  if (failed !== undefined) throw failed;
  if (!Array.isArray(replies) || replies.length !== count) throw unexpected();
  return replies.map((reply) => outcomeOf(reply, redact));
}

function outcomeOf(reply: { readonly value?: unknown; readonly error?: unknown } | null, redact: Redact): Outcome {
  if (typeof reply !== 'object' || reply === null) return { error: unexpected() };
  if (reply.error === undefined) return { value: reply.value };
  const { kind, message, isUnsent } = (reply.error ?? {}) as Readonly<Record<string, unknown>>;
  if (!KINDS.includes(kind as DegradedCause)) return { error: unexpected() };
  // The service answers: it has breakers of its own for what is behind it.
  const about = { isUnsent: isUnsent === true, isAnswer: true };
  const text = redact(typeof message === 'string' ? message : '').slice(0, MESSAGE_LENGTH_MAX);
  return { error: new StoreError(kind as DegradedCause, text, about) };
}

/** A store's reply, and nothing beside it; `limits` is how many it must tell of, unless a gate was shut. */
export function toReply(value: unknown, limits: number): StoreReply {
  const { atUs, numbers, blockedMs, terms } = (value ?? {}) as Readonly<Record<keyof StoreReply, unknown>>;
  const isGated = blockedMs !== undefined || terms !== undefined;
  if (!Array.isArray(numbers) || numbers.length !== (isGated ? 0 : 4 * limits)) throw unexpected();
  if (terms !== undefined && typeof terms !== 'string') throw unexpected();
  return {
    atUs: toWhole(atUs),
    // The second of four is -1 where no wait helps.
    numbers: numbers.map((number, i) => toWhole(number, i % 4 === 1 ? -1 : 0)),
    ...(blockedMs !== undefined && { blockedMs: toWhole(blockedMs) }),
    ...(terms !== undefined && { terms }),
  };
}

/** As {@link toReply}, with a word. */
export function toActionReply(value: unknown, limits: number): ActionReply {
  const word = toWhole((value as ActionReply | null)?.word, -1);
  return { ...toReply(value, limits), word };
}

/** A whole number of at least `least`. */
export function toWhole(value: unknown, least = 0): number {
  if (!Number.isSafeInteger(value) || (value as number) < least) throw unexpected();
  return value as number;
}

export function toParts(value: unknown, policies: number): readonly Part[] {
  if (!Array.isArray(value) || value.length !== policies) throw unexpected();
  return value.map((part: Part | null) => {
    const [processes, rank] = [toWhole(part?.processes, 1), toWhole(part?.rank)];
    if (rank >= processes) throw unexpected();
    return { processes, rank };
  });
}

function unexpected(): StoreError {
  const what = 'the answer is none of a store that serveStore() serves: is the URL right, and the version the same?';
  return new StoreError('unavailable', what);
}
