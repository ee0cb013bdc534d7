import { UNITS_MAX } from '../algorithms/ranges.js';
import type { Decision, LimitState } from '../core/decision.js';
import type { Duration } from '../core/duration.js';
import { ComportaError } from '../core/errors.js';
import type { LimiterEvents, Listener } from '../core/events.js';
import { checkSubject } from '../stores/keyspace.js';
import type { MaybePromise } from '../stores/store.js';
import { Actions } from './actions.js';
import { Asking } from './asking.js';
import type { LimiterParts } from './call.js';
import { checkCall, checkCost, checkDecision, checkListener, checkRefund } from './check.js';
import { isLook } from './decision.js';
import type { AcquireOptions, Lease } from './lease.js';
import type { CallOptions, Limiter, PlanOption } from './limiter.js';
import { promised } from './promised.js';
import { checkReserve, type Reservation, type ReserveOptions, type Settlement } from './reservation.js';
import type { Override } from './terms.js';
import type { Variants } from './variants.js';
import { checkWaitOptions, WaitingRoom, type WaitOptions } from './wait.js';

type Answer = MaybePromise<Decision>;

/** The one implementation of {@link Limiter}: checks arguments, and hands on what is asked. */
export class GuardedLimiter implements Limiter {
  readonly policy: string;
  readonly limits: Limiter['limits'];
  readonly leaseBounds: Limiter['leaseBounds'];
  readonly #parts: LimiterParts;
  readonly #variants: Variants;
  readonly #waiting: WaitingRoom;
  readonly #actions: Actions;
  readonly #asking: Asking;
  #closed = false;

  constructor(parts: LimiterParts) {
    const { plan, variants, waiting, clock } = parts;
    this.policy = plan.policy;
    this.limits = plan.limits;
    this.leaseBounds = parts.leaseBounds;
    this.#parts = parts;
    this.#variants = variants;
    this.#waiting = new WaitingRoom(plan.policy, waiting, {
      ask: (subject, cost) => this.#askInTurn(subject, cost),
      giveBack: (decision) => void this.#actions.refund(decision, decision.cost),
      tell: (decision) => parts.told.tellOfTurn(decision),
      isHeld: (subject, id) => variants.known(subject).limits.some((limit) => limit.id === id && limit.algorithm.holds),
    });
    this.#actions = new Actions(plan, variants, clock, this.#waiting);
    this.#asking = new Asking(parts, (decision, variant) => this.#actions.disown(decision, variant));
  }

  consume(subject: string, options?: CallOptions): Promise<Decision> {
    return promised(() => this.decide(subject, options));
  }

  decide(subject: string, options?: CallOptions): MaybePromise<Decision> {
    const cost = this.#check(subject, options);
    return this.#asking.ask(cost === 0 ? 'peek' : 'consume', subject, cost, options);
  }

  wait(subject: string, options: WaitOptions = {}): Promise<Decision> {
    return promised(() => {
      const { maxWaitMs: _, ...call } = checkWaitOptions(options);
      const cost = this.#check(subject, call);
      if (cost === 0) return this.#asking.ask('peek', subject, cost, undefined);
      if (this.#variants.fits(subject, cost)) return this.#waiting.wait(subject, cost, options);
      // Limits of the subject's own, which this process has not met yet, may have room for it.
      return Promise.resolve(this.#asking.ask('consume', subject, cost, undefined)).then((decision) =>
        decision.reason === 'limit-exceeded' ? this.#waiting.wait(subject, cost, options) : decision,
      );
    });
  }

  async acquire(subject: string, options: AcquireOptions = {}): Promise<Lease> {
    const { maxWaitMs = 0, ...call } = checkWaitOptions(options);
    const decision = await (maxWaitMs > 0 ? this.wait(subject, options) : this.consume(subject, call));
    const lease = this.#actions.hold(decision);
    if (!this.#closed) return lease;
    await lease.release();
    throw closed(this.policy);
  }

  hold(decision: Decision): Lease {
    this.#assertOpen();
    checkDecision(this.policy, decision);
    return this.#actions.hold(decision);
  }

  peek(subject: string, options?: CallOptions): Promise<Decision> {
    return promised(() => this.#asking.ask('peek', subject, this.#check(subject, options), options));
  }

  consumeUpTo(subject: string, most: number, options?: CallOptions): Promise<Decision> {
    return promised(() => {
      checkCost(most, 1, UNITS_MAX);
      this.#check(subject, options);
      return this.#asking.ask('take', subject, most, options);
    });
  }

  async reserve(subject: string, options: ReserveOptions = {}): Promise<Reservation> {
    const { call, holdMs, onExpiry } = checkReserve(options);
    const cost = this.#check(subject, call);
    const kind = onExpiry === 'release' ? 'reserve' : 'consume';
    const decision = await this.#asking.ask(kind, subject, cost, call, holdMs);
    return { ...decision, holdMs, onExpiry };
  }

  async settle(reservation: Reservation, cost: number): Promise<Settlement> {
    this.#assertOpen();
    return this.#actions.settle(reservation, cost);
  }

  cancel(reservation: Reservation): Promise<Settlement> {
    return this.settle(reservation, 0);
  }

  async charge(subject: string, cost = 1, options?: PlanOption): Promise<readonly LimitState[]> {
    this.#check(subject, options);
    return this.#actions.change('charge', subject, cost, options?.plan);
  }

  async reward(subject: string, cost = 1, options?: PlanOption): Promise<readonly LimitState[]> {
    this.#check(subject, options);
    return this.#actions.change('reward', subject, cost, options?.plan);
  }

  async block(subject: string, duration: Duration): Promise<void> {
    this.#check(subject, undefined);
    await this.#actions.block(subject, duration);
  }

  async unblock(subject: string): Promise<boolean> {
    this.#check(subject, undefined);
    return this.#actions.block(subject, 0);
  }

  async setOverride(subject: string, override: Override, lasts: Duration): Promise<void> {
    this.#check(subject, undefined);
    await this.#actions.override(subject, override, lasts);
  }

  async removeOverride(subject: string): Promise<boolean> {
    this.#check(subject, undefined);
    return this.#actions.override(subject, undefined, 0);
  }

  async refund(decision: Decision, amount: number = decision?.cost): Promise<boolean> {
    this.#assertOpen();
    checkRefund(this.policy, decision, amount);
    return amount > 0 && !isLook(decision) && this.#actions.refund(decision, amount);
  }

  async reset(subject: string): Promise<{ readonly keysRemoved: number }> {
    this.#check(subject, undefined);
    this.#variants.forget(subject);
    const removed = await Promise.all(this.#variants.all(subject).map((guard) => guard.reset(subject)));
    this.#waiting.recheck(subject);
    return { keysRemoved: removed.reduce((sum, keys) => sum + keys, 0) };
  }

  on<K extends keyof LimiterEvents>(name: K, listener: Listener<LimiterEvents[K]>): () => void {
    checkListener(name, listener);
    return this.#parts.events.on(name, listener);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#waiting.close();
    await this.#actions.close();
    await this.#parts.release();
  }

  /** For the first that waits. Called by timers: what `planOf` throws must reach who waits and nobody else. */
  #askInTurn(subject: string, cost: number): Answer {
    try {
      return this.#asking.ask('consume', subject, cost, undefined, 0, false);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #check(subject: string, options: CallOptions | undefined): number {
    this.#assertOpen();
    checkSubject(subject);
    return options === undefined ? 1 : checkCall(options);
  }

  #assertOpen(): void {
    if (this.#closed) throw closed(this.policy);
  }
}

const closed = (policy: string): ComportaError => new ComportaError('ERR_CLOSED', `limiter ${policy} is closed`);
