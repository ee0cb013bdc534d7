import type { Decision } from '../core/decision.js';
import type { Question } from '../resilience/question.js';
import type { ActionReply, MaybePromise, StoreReply } from '../stores/store.js';
import { Call, granted, type LimiterParts, replyAtOnce } from './call.js';
import { inAll, nextId, nextLookId, toDecision } from './decision.js';
import type { CallOptions } from './limiter.js';
import { idOfPart, rankIn, type Split } from './split.js';
import type { Variant } from './variants.js';

type Answer = MaybePromise<Decision>;

/** Asks the store for a limiter: by the terms that stand for a subject, and one of its parts where it is split. */
export class Asking {
  readonly #parts: LimiterParts;
  readonly #disown: (decision: Decision, variant: Variant) => void;
  readonly #word = (call: Call, reply: StoreReply): Answer => this.#wordOf(call, reply, call.cost);

  /** `disown` is told of every decision that the store did not make. */
  constructor(parts: LimiterParts, disown: (decision: Decision, variant: Variant) => void) {
    this.#parts = parts;
    this.#disown = disown;
  }

  ask(
    kind: Call['kind'],
    subject: string,
    cost: number,
    options: CallOptions | undefined,
    holdMs: number = 0,
    isTold: boolean = kind !== 'peek',
  ): Answer {
    const { plan, clock, told, variants, split } = this.#parts;
    const id = kind === 'peek' ? nextLookId() : nextId();
    const variant = variants.of(subject, options?.plan);
    const startedMs = told.start();
    const isSplit = split?.has(subject) === true;
    const reply = isSplit
      ? undefined
      : (replyAtOnce(kind, subject, cost, id, options, variant) ?? known(kind, subject, cost, options, variant));
    if (reply !== undefined) {
      const decision = toDecision(plan.policy, variant, subject, cost, id, reply);
      if (isTold) told.tell(decision, options?.shadow, startedMs);
      return decision;
    }
    const sinceUs = isSplit || plan.haveTerms === true ? clock.nowUs() : 0;
    const start = { kind, subject, cost, id, options, isTold, holdMs };
    const call = new Call(start, variant, startedMs, sinceUs, this.#word);
    if (!isSplit) return this.#put(call);
    return kind === 'peek' ? this.#lookAtAll(call, split) : this.#askPart(call, split);
  }

  #put(call: Call): Answer {
    const { kind, subject, cost, id, holdMs, variant } = call;
    if (kind === 'consume' || kind === 'peek') {
      const { guard, parts } = variant;
      // What may be known of a whole subject was looked up before there was a call.
      return (parts === 1 ? guard.ask<Answer>(call) : guard.decide<Answer>(call)) as Answer;
    }
    const { timeoutMs, signal, terms } = call;
    const action = kind === 'take' ? { kind, subject, cost, id } : { kind, subject, cost, id, holdMs };
    const word = (reply: ActionReply) =>
      kind === 'take' ? this.#wordOf(call, granted(reply), reply.word) : call.word(reply);
    return variant.guard.take<Answer>({ action, timeoutMs, signal, terms, word }) as Answer;
  }

  #wordOf(call: Call, reply: StoreReply, cost: number): Answer {
    if (reply.terms !== undefined) return this.#again(call, reply.terms);
    const { subject, id, variant } = call;
    const decision = toDecision(this.#parts.plan.policy, variant, subject, cost, id, reply);
    if (decision.degraded !== undefined) this.#disown(decision, variant);
    return variant.parts === 1 ? this.#tell(call, decision) : this.#askedPart(call, decision);
  }

  #tell(call: Call, decision: Decision): Decision {
    if (call.isTold) this.#parts.told.tell(decision, call.options?.shadow, call.startedMs);
    return decision;
  }

  /** The store holds other terms for the subject: nothing was decided. However often, the time limit runs on. */
  #again(call: Call, terms: string): Answer {
    const { subject, options, variant } = call;
    const { variants } = this.#parts;
    variants.learn(subject, terms);
    call.timeoutMs = this.#leftMs(call);
    // Told what was sent: bytes that are no text, which the client cannot repeat.
    const choice = terms === variant.terms?.replaced ? 'despite' : 'of';
    call.variant = variants[choice](subject, options?.plan);
    return this.#put(call);
  }

  #leftMs({ options, sinceUs }: Call): number {
    const { clock, timeoutMs } = this.#parts;
    return Math.max(0, (options?.timeoutMs ?? timeoutMs) - (clock.nowUs() - sinceUs) / 1000);
  }

  /** The next in turn, or another after it. What fits no part is asked of one of the smallest: all say the same. */
  #askPart(call: Call, split: Split): Answer {
    const { kind, subject, cost, variant } = call;
    const asked = rankIn(call.id);
    const next = (): number => (asked === undefined ? split.next(subject) : split.other(asked));
    const rank = kind === 'take' || split.fits(variant.limits, cost) ? next() : split.parts - 1;
    call.variant = this.#parts.variants.part(variant, rank);
    call.id = idOfPart(asked === undefined ? call.id : nextId(), rank);
    return this.#put(call);
  }

  /** One part without room says little of the others: another is asked, within what is left of the time limit. */
  #askedPart(call: Call, decision: Decision): Answer {
    const { split } = this.#parts;
    const { first } = call;
    if (first !== undefined) return this.#tell(call, isSooner(first, decision) ? first : decision);
    const leftMs = this.#leftMs(call);
    if (split === undefined || leftMs < 1 || !mayFitElsewhere(decision)) return this.#tell(call, decision);
    call.first = decision;
    call.timeoutMs = leftMs;
    return this.#askPart(call, split);
  }

  async #lookAtAll(call: Call, split: Split): Promise<Decision> {
    const { subject, cost, id, variant, timeoutMs, signal } = call;
    const { variants, plan } = this.#parts;
    const asked: Omit<Question<StoreReply>, 'word'> = { operation: 'peek', subject, cost, id, timeoutMs, signal };
    const first = split.fits(variant.limits, cost) ? 0 : split.parts - 1;
    const replies: MaybePromise<StoreReply>[] = [];
    for (let rank = first; rank < split.parts; rank++) {
      replies.push(variants.part(variant, rank).guard.decide({ ...asked, word: (reply: StoreReply) => reply }));
    }
    const whole = inAll(await Promise.all(replies));
    return toDecision(plan.policy, variants.part(variant, first), subject, cost, id, whole);
  }
}

/** What was leased, or is known to be refused, is answered without a {@link Call} too. */
function known(
  kind: Call['kind'],
  subject: string,
  cost: number,
  options: CallOptions | undefined,
  { guard }: Variant,
): StoreReply | undefined {
  const isAsked = (kind === 'consume' || kind === 'peek') && options?.signal?.aborted !== true;
  return isAsked ? guard.known(kind, subject, cost) : undefined;
}

/** Where the caller gave up, or no part can ever admit it, no other part helps. */
function mayFitElsewhere({ allowed, reason, degraded }: Decision): boolean {
  return !allowed && reason !== 'cost-exceeds-limit' && degraded?.cause !== 'aborted';
}

/** Whether the first of two parts, which both may have refused, is the one to come back to. */
function isSooner(first: Decision, second: Decision): boolean {
  const waitMs = (of: Decision): number => of.retryAfterMs ?? Number.POSITIVE_INFINITY;
  return !second.allowed && waitMs(first) < waitMs(second);
}
