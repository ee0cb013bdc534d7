import type { Decision, LimitState } from '../core/decision.js';
import { type Duration, durationMs } from '../core/duration.js';
import { ComportaError, show } from '../core/errors.js';
import type { Clock } from '../core/time.js';
import type { Guard } from '../resilience/guard.js';
import type { Action, ActionReply, Plan, StoreReply } from '../stores/store.js';
import { checkCost } from './check.js';
import { inAll, isLook, statesOf } from './decision.js';
import { HeldLease, type Landlord, type Lease } from './lease.js';
import { PlacesToFree } from './places-to-free.js';
import { checkReservation, isReservation, type Reservation, type Settlement } from './reservation.js';
import { type Override, overrideText } from './terms.js';
import type { Variant, Variants } from './variants.js';

/** Leases that are released together on close. */
const CLOSED_AT_ONCE = 1000;

const LASTS_MAX_MS = 10 * 366 * 86_400_000;

/** Who waits for room. */
interface Waiting {
  /** A place was given back. */
  nudge(subject: string): void;
  /** There may be more room than was said. */
  recheck(subject: string): void;
}

/** What a limiter does to a subject beside deciding. Subjects are checked by its caller. */
export class Actions {
  readonly #policy: string;
  readonly #plan: Plan;
  readonly #variants: Variants;
  readonly #clock: Clock;
  readonly #debts: PlacesToFree;
  /** By the ids of their decisions. */
  readonly #leases: Map<string, HeldLease> = new Map();
  readonly #waiting: Waiting;

  constructor(plan: Plan, variants: Variants, clock: Clock, waiting: Waiting) {
    this.#policy = plan.policy;
    this.#plan = plan;
    this.#variants = variants;
    this.#clock = clock;
    this.#debts = new PlacesToFree(clock);
    this.#waiting = waiting;
  }

  /** Renews the places of a decision until they are released. Asked again, the same lease. */
  hold(decision: Decision): Lease {
    const known = this.#leases.get(decision.id);
    if (known !== undefined) return known;
    const { leases, guard } = this.#places(decision);
    const landlord = leases.length === 0 ? undefined : this.#landlord(decision, guard, leases);
    const lease = new HeldLease(decision, landlord, () => this.#leases.delete(decision.id));
    if (landlord !== undefined) this.#leases.set(decision.id, lease);
    return lease;
  }

  /** A question that was given up may have taken places all the same, which nobody would renew or free. */
  disown(decision: Decision, { guard, limits }: Pick<Variant, 'guard' | 'limits'>): void {
    const { subject, id, allowed, degraded } = decision;
    const isGivenUp = degraded?.cause === 'timeout' || degraded?.cause === 'aborted';
    // A place that was given here is renewed and released there as well, under the same id.
    if (!isGivenUp || isLook(decision) || (allowed && degraded.mode === 'local')) return;
    if (!limits.some(({ algorithm }) => algorithm.holds)) return;
    this.#debts.free(guard, subject, id);
  }

  /** Frees all places that are held. */
  async close(): Promise<void> {
    const leases = [...this.#leases.values()];
    // Not more at once than a node is asked for.
    for (let i = 0; i < leases.length; i += CLOSED_AT_ONCE) {
      await Promise.all(leases.slice(i, i + CLOSED_AT_ONCE).map((lease) => lease.release()));
    }
    this.#debts.close();
  }

  /** Lengths of the leases that a decision holds; none where nothing counted it. */
  #places(decision: Decision): { readonly leases: readonly number[]; readonly guard: Guard } {
    const { allowed, degraded } = decision;
    const { guard, limits } = this.#variants.behind(decision) ?? {
      ...this.#variants.known(decision.subject),
      limits: [],
    };
    const isCounted = allowed && !isLook(decision) && (degraded === undefined || degraded.mode === 'local');
    const held = isCounted ? limits.filter(({ algorithm }) => algorithm.holds) : [];
    return { guard, leases: held.map(({ windowMs }) => windowMs) };
  }

  /**
   * A place that was given here, while the store was away, moves to the store at the first renewal that
   * reaches it: from then on everybody counts it, and where the store is full it is lost.
   */
  #landlord({ subject, id, degraded }: Decision, guard: Guard, leases: readonly number[]): Landlord {
    let isHere = degraded !== undefined;
    // A question that got no answer in time may have taken the place there all the same.
    let isThere = degraded === undefined || degraded.cause === 'timeout' || degraded.cause === 'aborted';
    const asked = (kind: 'renew' | 'release'): Action => ({ kind, subject, cost: 0, id });
    const isHeld = ({ word }: ActionReply): boolean => word >= leases.length;
    const leave = (): void => {
      if (isHere) guard.actLocally(asked('release'));
      isHere = false;
    };
    return {
      clock: this.#clock,
      leaseMs: Math.min(...leases),
      renew: async () => {
        try {
          const reply = await guard.act(asked('renew'));
          isThere = true;
          leave();
          return isHeld(reply);
        } catch (error) {
          if (isHere) return isHeld(guard.actLocally(asked('renew')));
          throw error;
        }
      },
      release: async () => {
        leave();
        if (isThere) await this.#debts.free(guard, subject, id);
        this.#waiting.nudge(subject);
      },
    };
  }

  /** Puts the real cost in place of a reserved one. */
  async settle(reservation: Reservation, cost: number): Promise<Settlement> {
    const granted = checkReservation(this.#policy, reservation);
    checkCost(cost, 0);
    const { subject, id, cost: reserved, atUs, holdMs, onExpiry, mode } = granted;
    if (mode === 'open') return { settled: true, reason: undefined, limits: [] };
    const behind = this.#variants.behind(granted) ?? (await this.#met(granted));
    if (behind === undefined) return { settled: false, reason: 'limits-unknown', limits: [] };
    const { guard } = behind;
    const action: Action = {
      kind: 'settle',
      subject,
      cost,
      id,
      holdMs,
      reserved,
      atUs,
      isNoted: onExpiry === 'release',
    };
    try {
      const reply = mode === undefined ? await guard.act(action) : guard.settleLocally(action);
      await this.#gaveBack(granted);
      if (reply.word === 1 && cost < reserved) this.#waiting.recheck(subject);
      const reason = reply.word === 1 ? undefined : reply.word === 0 ? 'already-settled' : 'expired';
      return { settled: reason === undefined, reason, limits: statesOf(behind, reply) };
    } catch {
      return { settled: false, reason: 'store-unavailable', limits: [] };
    }
  }

  /** Gives a charge back, once; a noted one by settling it, or it would come back again when its time is over. */
  async refund(decision: Decision, amount: number): Promise<boolean> {
    const { subject, id: decisionId, cost, atUs, degraded } = decision;
    if (isReservation(decision)) {
      const { settled } = await this.settle(decision, cost - amount);
      return settled && degraded?.mode !== 'open';
    }
    const charge = { subject, decisionId, atUs, amount, ...(amount < cost ? { isPart: true } : {}) };
    const behind = this.#variants.behind(decision) ?? (await this.#met(decision));
    const isGiven = await behind?.guard.refund(charge, degraded ?? undefined);
    if (amount === cost) await this.#gaveBack(decision);
    if (isGiven === true) this.#waiting.recheck(subject);
    return isGiven ?? false;
  }

  /** As {@link Variants.behind}, after terms were asked for that this process has not met yet. */
  async #met(decision: Pick<Decision, 'subject' | 'limits' | 'id'>): Promise<Variant | undefined> {
    if (this.#plan.haveTerms !== true) return undefined;
    const { subject } = decision;
    const { guard, terms } = this.#variants.known(subject);
    const none = { id: '', timeoutMs: undefined, signal: undefined };
    const told = await guard.decide({
      operation: 'peek',
      subject,
      cost: 0,
      terms,
      ...none,
      word: (reply) => reply.terms,
    });
    if (told !== undefined) this.#variants.learn(subject, told);
    return this.#variants.behind(decision);
  }

  /** A lease would take the place again that its decision has given back. */
  async #gaveBack({ id, subject }: Pick<Decision, 'id' | 'subject'>): Promise<void> {
    const lease = this.#leases.get(id);
    if (lease === undefined) this.#waiting.nudge(subject);
    else await lease.release();
  }

  /** Charges every limit, or gives its newest use back; the limits afterwards. */
  async change(
    kind: 'charge' | 'reward',
    subject: string,
    cost: number,
    plan: string | undefined,
  ): Promise<readonly LimitState[]> {
    checkCost(cost, 1);
    const all = this.#variants.spread(subject, cost, plan);
    const replies = await Promise.all(all.map((each) => each.guard.act({ kind, subject, cost: each.cost })));
    if (kind === 'reward') this.#waiting.recheck(subject);
    return statesOf(all[0] as Variant, replies.length === 1 ? (replies[0] as StoreReply) : inAll(replies));
  }

  /** Shuts a subject out; 0 ms lets it in. */
  async block(subject: string, duration: Duration): Promise<boolean> {
    if (this.#plan.blocks === undefined) throw needs('blocks', 'block');
    const cost = lasting(duration, 'duration', 0);
    const { word } = await this.#variants.known(subject).guard.act({ kind: 'block', subject, cost });
    if (cost === 0) this.#waiting.recheck(subject);
    return word === 1;
  }

  /** Gives a subject limits of its own, or (`undefined`) those of the policy again. */
  async override(subject: string, override: Override | undefined, lasts: Duration): Promise<boolean> {
    if (this.#plan.haveTerms !== true) throw needs('overrides', 'setOverride');
    const cost = override === undefined ? 0 : lasting(lasts, 'lasts', 1);
    const terms = override === undefined ? '' : overrideText(override);
    if (override !== undefined && 'plan' in override) this.#variants.of(subject, override.plan);
    const { word } = await this.#variants.known(subject).guard.act({ kind: 'setTerms', subject, cost, terms });
    this.#variants.learn(subject, terms);
    this.#waiting.recheck(subject);
    return word === 1;
  }
}

function needs(option: string, method: string): ComportaError {
  return new ComportaError('ERR_OPTION', `${method}: the limiter needs the option ${option}`, option);
}

function lasting(duration: Duration, field: string, leastMs: number): number {
  const ms = durationMs(duration, field);
  if (ms >= leastMs && ms <= LASTS_MAX_MS) return ms;
  throw new ComportaError('ERR_OPTION', `${field}: expected ${leastMs} ms to 10 years, got ${show(duration)}`, field);
}
