import type { Decision } from '../core/decision.js';
import { ComportaError, show } from '../core/errors.js';
import type { Emitter, LimiterEvents, Listener } from '../core/events.js';
import type { CallLimits, Guard } from '../resilience/guard.js';
import { checkSubject } from '../stores/keyspace.js';
import type { MaybePromise, Plan, StoreReply } from '../stores/store.js';
import { toDecision } from './decision.js';
import type { CallOptions, Limiter } from './limiter.js';

const NO_LIMITS: CallLimits = { timeoutMs: undefined, signal: undefined };

/** The one implementation of {@link Limiter}: checks arguments, asks the guard, words the decision. */
export class GuardedLimiter implements Limiter {
  readonly policy: string;
  readonly limits: Limiter['limits'];
  readonly #plan: Plan;
  readonly #guard: Guard;
  readonly #events: Emitter<LimiterEvents>;
  readonly #release: () => Promise<void>;
  #closed = false;

  constructor(plan: Plan, guard: Guard, events: Emitter<LimiterEvents>, release: () => Promise<void>) {
    this.policy = plan.policy;
    this.limits = plan.limits;
    this.#plan = plan;
    this.#guard = guard;
    this.#events = events;
    this.#release = release;
  }

  async consume(subject: string, options?: CallOptions): Promise<Decision> {
    return this.decide(subject, options);
  }

  decide(subject: string, options?: CallOptions): MaybePromise<Decision> {
    const cost = this.#check(subject, options);
    const limits = options === undefined ? NO_LIMITS : limitsOf(options);
    const reply = cost === 0 ? this.#guard.peek(subject, 0, limits) : this.#guard.consume(subject, cost, limits);
    return this.#word(reply, subject, cost);
  }

  async peek(subject: string, options?: CallOptions): Promise<Decision> {
    const cost = this.#check(subject, options);
    return this.#word(this.#guard.peek(subject, cost, options === undefined ? NO_LIMITS : limitsOf(options)), subject, cost);
  }

  async refund(decision: Decision, amount: number = decision?.cost): Promise<boolean> {
    this.#checkRefund(decision, amount);
    if (amount === 0) return false;
    const { subject, id: decisionId, atUs, degraded } = decision;
    return this.#guard.refund({ subject, decisionId, atUs, amount }, degraded);
  }

  async reset(subject: string): Promise<{ readonly keysRemoved: number }> {
    this.#check(subject, undefined);
    return { keysRemoved: await this.#guard.reset(subject) };
  }

  on<K extends keyof LimiterEvents>(name: K, listener: Listener<LimiterEvents[K]>): () => void {
    return this.#events.on(name, listener);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#release();
  }

  #word(reply: MaybePromise<StoreReply>, subject: string, cost: number): MaybePromise<Decision> {
    return reply instanceof Promise
      ? reply.then((settled) => toDecision(this.#plan, settled, subject, cost))
      : toDecision(this.#plan, reply, subject, cost);
  }

  #check(subject: string, options: CallOptions | undefined): number {
    if (this.#closed) throw new ComportaError('ERR_CLOSED', `limiter ${this.policy} is closed`);
    checkSubject(subject);
    const cost = options?.cost ?? 1;
    if (!Number.isSafeInteger(cost) || cost < 0) {
      throw new ComportaError('ERR_COST', `cost: expected a whole number from 0 to 2^53 - 1, got ${show(options?.cost)}`, 'cost');
    }
    return cost;
  }

  #checkRefund(decision: Decision, amount: number): void {
    if (this.#closed) throw new ComportaError('ERR_CLOSED', `limiter ${this.policy} is closed`);
    if (typeof decision?.id !== 'string' || decision.policy !== this.policy || !decision.allowed) {
      throw new ComportaError('ERR_REFUND', `decision: expected an allowed decision of policy ${this.policy}`, 'decision');
    }
    if (!Number.isSafeInteger(amount) || amount < 0 || amount > decision.cost) {
      throw new ComportaError('ERR_REFUND', `amount: expected a whole number from 0 to the decision's cost ${decision.cost}, got ${show(amount)}`, 'amount');
    }
  }
}

function limitsOf({ timeoutMs, signal }: CallOptions): CallLimits {
  if (timeoutMs !== undefined && !(timeoutMs >= 0)) {
    throw new ComportaError('ERR_OPTION', `timeoutMs: expected milliseconds of at least 0, got ${show(timeoutMs)}`, 'timeoutMs');
  }
  return { timeoutMs, signal };
}
