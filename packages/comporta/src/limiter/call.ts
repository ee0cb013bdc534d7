import type { Decision } from '../core/decision.js';
import type { Emitter, LimiterEvents } from '../core/events.js';
import type { Clock } from '../core/time.js';
import type { Question } from '../resilience/question.js';
import type { ActionReply, MaybePromise, Plan, StoreReply, Terms } from '../stores/store.js';
import type { LeaseBound } from './lease-rule.js';
import type { CallOptions } from './limiter.js';
import type { Split } from './split.js';
import type { Told } from './told.js';
import type { Variant, Variants } from './variants.js';
import type { WaitSettings } from './wait.js';

/** What is asked: a look, a charge, a part, or a charge that is settled later. */
type Kind = 'consume' | 'peek' | 'take' | 'reserve';

/** Makes the caller's answer of the store's. */
type Word = (call: Call, reply: StoreReply) => MaybePromise<Decision>;

/** What each call of a limiter begins with. */
export interface CallStart {
  readonly kind: Kind;
  readonly subject: string;
  readonly cost: number;
  readonly id: string;
  readonly options: CallOptions | undefined;
  /** Listeners hear of the decision. */
  readonly isTold: boolean;
  readonly holdMs: number;
}

/** One decision that is asked for, and its own question to the guard: each further object costs a tenth of it. */
export class Call implements CallStart, Question<MaybePromise<Decision>> {
  readonly kind: Kind;
  readonly subject: string;
  readonly cost: number;
  /** Of the part that is asked, where its subject is split. */
  id: string;
  readonly holdMs: number;
  readonly options: CallOptions | undefined;
  readonly isTold: boolean;
  /** When it began, for those who measure; `undefined` while nobody does. */
  readonly startedMs: number | undefined;
  /** Where terms may make it begin anew: when it began. */
  readonly sinceUs: number;
  /** The limits that it is asked of, and the time limit: others when it begins anew. */
  variant: Variant;
  timeoutMs: number | undefined;
  /** What the first part of a split subject answered, when a second is asked. */
  first: Decision | undefined;
  readonly #word: Word;

  constructor(start: CallStart, variant: Variant, startedMs: number | undefined, sinceUs: number, word: Word) {
    this.kind = start.kind;
    this.subject = start.subject;
    this.cost = start.cost;
    this.id = start.id;
    this.holdMs = start.holdMs;
    this.options = start.options;
    this.isTold = start.isTold;
    this.startedMs = startedMs;
    this.sinceUs = sinceUs;
    this.variant = variant;
    this.timeoutMs = start.options?.timeoutMs;
    this.first = undefined;
    this.#word = word;
  }

  get operation(): 'consume' | 'peek' {
    return this.kind === 'peek' ? 'peek' : 'consume';
  }

  get signal(): AbortSignal | undefined {
    return this.options?.signal;
  }

  get terms(): Terms | undefined {
    return this.variant.terms;
  }

  word(reply: StoreReply): MaybePromise<Decision> {
    return this.#word(this, reply);
  }
}

/**
 * Decides where the store does so at once: a {@link Call}, which is there to wait, would cost a fifth of the decision.
 * `undefined`: nothing was decided.
 */
export function replyAtOnce(
  kind: Kind,
  subject: string,
  cost: number,
  id: string,
  options: CallOptions | undefined,
  { guard: { here }, terms }: Variant,
): StoreReply | undefined {
  if (here === undefined || (kind !== 'consume' && kind !== 'peek') || options?.signal?.aborted === true) {
    return undefined;
  }
  const reply = here[kind](subject, cost, undefined, terms, id) as StoreReply;
  return reply.terms === undefined ? reply : undefined;
}

/** What was granted passes, whatever a further request would have to wait. */
export const granted = (reply: ActionReply): StoreReply =>
  reply.word > 0 ? { ...reply, numbers: reply.numbers.map((number, i) => (i % 4 === 1 ? 0 : number)) } : reply;

/** What a limiter is made of. */
export interface LimiterParts {
  readonly plan: Plan;
  readonly variants: Variants;
  /** Which subjects live in parts, where some do. */
  readonly split: Split | undefined;
  readonly events: Emitter<LimiterEvents>;
  readonly told: Told;
  readonly waiting: WaitSettings;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly leaseBounds: readonly LeaseBound[];
  release(): Promise<void>;
}
