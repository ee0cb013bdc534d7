import type { Decision } from '../core/decision.js';
import { ComportaError, show } from '../core/errors.js';
import type { Emitter, LimiterEvents, Listener } from '../core/events.js';
import type { Guard } from '../resilience/guard.js';
import { checkSubject } from '../stores/keyspace.js';
import type { MaybePromise, Plan } from '../stores/store.js';
import { isLook, toDecision } from './decision.js';
import type { CallOptions, Limiter } from './limiter.js';

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

  consume(subject: string, options?: CallOptions): Promise<Decision> {
    return promised(() => this.decide(subject, options));
  }

  decide(subject: string, options?: CallOptions): MaybePromise<Decision> {
    const cost = this.#check(subject, options);
    return this.#ask(cost === 0 ? 'peek' : 'consume', subject, cost, options);
  }

  peek(subject: string, options?: CallOptions): Promise<Decision> {
    return promised(() => this.#ask('peek', subject, this.#check(subject, options), options));
  }

  async refund(decision: Decision, amount: number = decision?.cost): Promise<boolean> {
    this.#checkRefund(decision, amount);
    if (amount === 0 || isLook(decision)) return false;
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

  #ask(
    operation: 'consume' | 'peek',
    subject: string,
    cost: number,
    options: CallOptions | undefined,
  ): MaybePromise<Decision> {
    return this.#guard.decide({
      operation,
      subject,
      cost,
      timeoutMs: options?.timeoutMs,
      signal: options?.signal,
      word: (reply) => toDecision(this.#plan, reply, operation, subject, cost),
    });
  }

  #check(subject: string, options: CallOptions | undefined): number {
    if (this.#closed) throw new ComportaError('ERR_CLOSED', `limiter ${this.policy} is closed`);
    checkSubject(subject);
    if (options !== undefined) checkOptions(options);
    const cost = options?.cost === undefined ? 1 : options.cost;
    if (!Number.isSafeInteger(cost) || cost < 0) {
      throw new ComportaError(
        'ERR_COST',
        `cost: expected a whole number from 0 to 2^53 - 1, got ${show(options?.cost)}`,
        'cost',
      );
    }
    return cost;
  }

  #checkRefund(decision: Decision, amount: number): void {
    if (this.#closed) throw new ComportaError('ERR_CLOSED', `limiter ${this.policy} is closed`);
    const { id, policy, atUs, allowed, subject } = decision ?? {};
    const isOurs = typeof id === 'string' && DECISION_ID.test(id) && policy === this.policy;
    const isOfSubject = typeof subject === 'string' && subject !== '';
    if (!isOurs || !isOfSubject || allowed !== true || !Number.isSafeInteger(atUs) || atUs < 0) {
      throw new ComportaError(
        'ERR_REFUND',
        `decision: expected an allowed decision of policy ${this.policy}`,
        'decision',
      );
    }
    if (!Number.isSafeInteger(amount) || amount < 0 || amount > decision.cost) {
      throw new ComportaError(
        'ERR_REFUND',
        `amount: expected a whole number from 0 to the decision's cost ${decision.cost}, got ${show(amount)}`,
        'amount',
      );
    }
  }
}

/** The form of the ids that {@link toDecision} gives. */
const DECISION_ID = /^\.?[0-9a-z]{1,64}$/;

const CALL_OPTIONS: ReadonlySet<string> = new Set(['cost', 'signal', 'timeoutMs']);

/** A mistyped cost must not count as 1 in silence. */
function checkOptions(options: CallOptions): void {
  if (typeof options !== 'object' || options === null) {
    throw refusal('options', `expected { cost, signal, timeoutMs }, got ${show(options)}`);
  }
  for (const name in options) {
    if (!CALL_OPTIONS.has(name)) throw refusal(name, 'unknown option of a call; there are cost, signal and timeoutMs');
  }
  const { signal, timeoutMs } = options;
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs >= 0)) {
    throw refusal('timeoutMs', `expected milliseconds of at least 0, got ${show(timeoutMs)}`);
  }
  if (
    signal !== undefined &&
    !(typeof signal?.aborted === 'boolean' && typeof signal.addEventListener === 'function')
  ) {
    throw refusal('signal', `expected an AbortSignal such as controller.signal, got ${show(signal)}`);
  }
}

function refusal(field: string, message: string): ComportaError {
  return new ComportaError('ERR_OPTION', `${field}: ${message}`, field);
}

/** An async function would add three ticks to every call that is a promise already. */
function promised<T>(start: () => MaybePromise<T>): Promise<T> {
  try {
    const answer = start();
    return answer instanceof Promise ? answer : Promise.resolve(answer);
  } catch (error) {
    return Promise.reject(error);
  }
}
