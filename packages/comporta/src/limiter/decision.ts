import type { Decision, DenialReason, LimitState } from '../core/decision.js';
import { processId } from '../core/process-id.js';
import type { Plan, StoreReply } from '../stores/store.js';
import type { Variant } from './variants.js';

/** What ids end in, made once: to write a number in digits for each would cost a tenth of a decision. */
const ENDS: readonly string[] = Array.from({ length: 36 ** 2 }, (_, i) => i.toString(36).padStart(2, '0'));
/** Of the ids of one beginning the last. */
let end = ENDS.length - 1;
let beginning = '';
let beginnings = 0;

/** A new id of a decision: with {@link processId}, unique over processes. */
export function nextId(): string {
  if (++end === ENDS.length) begin();
  return beginning + (ENDS[end] as string);
}

function begin(): void {
  end = 0;
  beginning = `${processId()}${(beginnings++).toString(36)}`;
}

/** First character of the ids of looks: no other id begins so. */
const LOOK = '.';

/** Whether a decision charged nothing, whatever its cost, because it was only a look. */
export function isLook({ id }: Decision): boolean {
  return id.startsWith(LOOK);
}

/** A new id of a decision that is only a look. */
export const nextLookId = (): string => LOOK + nextId();

/** Words a store's numbers as a decision. */
export function toDecision(
  policy: string,
  { limits: of, parts }: Pick<Variant, 'limits' | 'parts'>,
  subject: string,
  cost: number,
  id: string,
  reply: StoreReply,
): Decision {
  const { degraded, atUs, blockedMs } = reply;
  const numbers = parts === 1 ? reply.numbers : inParts(of, parts, reply);
  const limits = numbers.length === 4 ? [stateOf(of[0] as Plan['limits'][number], numbers, 0)] : statesIn(of, numbers);
  const binding = limits.length > 1 ? bindingOf(limits) : limits[0];
  const allowed = binding === undefined ? degraded?.mode === 'open' : binding.retryAfterMs === 0;
  return {
    allowed,
    reason: allowed ? undefined : reasonOf(binding, blockedMs),
    policy,
    subject,
    cost,
    id,
    atUs,
    limits,
    binding,
    retryAfterMs: allowed ? 0 : (blockedMs ?? binding?.retryAfterMs ?? null),
    degraded,
  };
}

/** For somebody who waits behind the one that was refused, and longer; the limits' waits are those of the first. */
export function refusedUnasked(refusal: Decision, cost: number, waitMs: number): Decision {
  return { ...refusal, cost, id: nextId(), retryAfterMs: refusal.retryAfterMs === null ? null : waitMs };
}

/** For somebody who would have had to wait where too many wait already: nobody counted. */
export function notQueued(policy: string, subject: string, cost: number): Decision {
  const unknown = { limits: [], binding: undefined, retryAfterMs: null, degraded: undefined };
  return { allowed: false, reason: 'too-many-waiting', policy, subject, cost, id: nextId(), atUs: 0, ...unknown };
}

/** Words a store's numbers, four per limit, as {@link toDecision}. */
export function statesOf({ limits, parts }: Pick<Variant, 'limits' | 'parts'>, reply: StoreReply): LimitState[] {
  return statesIn(limits, parts === 1 ? reply.numbers : inParts(limits, parts, reply));
}

function statesIn(limits: Plan['limits'], numbers: readonly number[]): LimitState[] {
  return numbers.length === 0 ? [] : limits.map((limit, i) => stateOf(limit, numbers, i * 4));
}

/** What one part of a subject says, for all: that each has as much left. */
function inParts(limits: Plan['limits'], parts: number, { numbers }: StoreReply): readonly number[] {
  return numbers.map((number, i) =>
    i % 4 === 0 ? Math.min(limits[i / 4]?.limit ?? 0, Math.round(number * parts)) : number,
  );
}

/** What several parts of a subject say, as one would: what they have left on average, and the soonest wait. */
export function inAll(replies: readonly StoreReply[]): StoreReply {
  const told = replies.filter(({ numbers }) => numbers.length > 0);
  const degraded = replies.find((reply) => reply.degraded !== undefined)?.degraded;
  // Only a part in which all limits admit it lets a request pass.
  const [soonest] = [...told].sort((a, b) => waitOf(a) - waitOf(b));
  const numbers = (soonest?.numbers ?? []).map((number, i) => {
    const all = told.map((reply) => reply.numbers[i] as number);
    if (i % 4 === 0) return all.reduce((sum, each) => sum + each, 0) / all.length;
    if (i % 4 === 1) return number;
    return i % 4 === 2 ? Math.max(...all) : Math.min(...all.map((each) => each || Number.POSITIVE_INFINITY));
  });
  const finite = numbers.map((number) => (Number.isFinite(number) ? number : 0));
  return { atUs: Math.max(...replies.map(({ atUs }) => atUs)), numbers: finite, ...(degraded && { degraded }) };
}

function waitOf({ numbers }: StoreReply): number {
  const waits = numbers.filter((_, i) => i % 4 === 1);
  return waits.includes(-1) ? Number.POSITIVE_INFINITY : Math.max(...waits);
}

/** Of a limit whose numbers begin `at` an index. */
function stateOf(of: Plan['limits'][number], numbers: readonly number[], at: number): LimitState {
  const retryAfterMs = numbers[at + 1] as number;
  return {
    id: of.id,
    limit: of.limit,
    windowMs: of.windowMs,
    remaining: numbers[at] as number,
    retryAfterMs: retryAfterMs < 0 ? null : retryAfterMs,
    resetAfterMs: numbers[at + 2] as number,
    nextAfterMs: numbers[at + 3] as number,
  };
}

function bindingOf(limits: readonly LimitState[]): LimitState | undefined {
  return limits.reduce((binding, state) => (bindsMore(state, binding) ? state : binding));
}

/** The longer wait binds; among limits that admit, the one with less left. */
function bindsMore(a: LimitState, b: LimitState): boolean {
  const waitA = a.retryAfterMs ?? Number.POSITIVE_INFINITY;
  const waitB = b.retryAfterMs ?? Number.POSITIVE_INFINITY;
  return waitA !== waitB ? waitA > waitB : a.remaining < b.remaining;
}

function reasonOf(binding: LimitState | undefined, blockedMs: number | undefined): DenialReason {
  if (blockedMs !== undefined) return 'blocked';
  if (binding === undefined) return 'store-unavailable';
  return binding.retryAfterMs === null ? 'cost-exceeds-limit' : 'limit-exceeded';
}
