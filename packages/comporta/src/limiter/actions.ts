import type { Decision, LimitState } from '../core/decision.js';
import { type Duration, durationMs } from '../core/duration.js';
import { ComportaError, show } from '../core/errors.js';
import type { Clock } from '../core/time.js';
import type { Action, Plan } from '../stores/store.js';
import { checkCost } from './check.js';
import { statesOf } from './decision.js';
import { HeldLease, type Landlord, type Lease } from './lease.js';
import { checkReservation, isNoted, type Reservation, type Settlement } from './reservation.js';
import { type Override, overrideText } from './terms.js';
import type { Variants } from './variants.js';

const LASTS_MAX_MS = 10 * 366 * 86_400_000;

/** What a limiter does to a subject beside deciding. Subjects are checked by its caller. */
export class Actions {
  readonly #policy: string;
  readonly #plan: Plan;
  readonly #variants: Variants;
  readonly #clock: Clock;
  readonly #leases: Set<HeldLease> = new Set();

  constructor(plan: Plan, variants: Variants, clock: Clock) {
    this.#policy = plan.policy;
    this.#plan = plan;
    this.#variants = variants;
    this.#clock = clock;
  }

  /** Renews the places of a decision until they are released. */
  hold(decision: Decision): Lease {
    const { subject, id, allowed, degraded } = decision;
    const { guard, limits } = this.#variants.behind(decision);
    const leases = limits.filter(({ algorithm }) => algorithm.holds).map(({ windowMs }) => windowMs);
    const isHeld = allowed && leases.length > 0 && (degraded === undefined || degraded.mode === 'local');
    const act = async (kind: 'renew' | 'release'): Promise<number> => {
      const action: Action = { kind, subject, cost: 0, id };
      return degraded === undefined ? (await guard.act(action)).word : guard.actLocally(action).word;
    };
    const landlord: Landlord = {
      clock: this.#clock,
      leaseMs: Math.min(...leases),
      renew: async () => (await act('renew')) >= leases.length,
      release: async () => void (await act('release')),
    };
    const lease = new HeldLease(decision, isHeld ? landlord : undefined, (over) => this.#leases.delete(over));
    if (isHeld) this.#leases.add(lease);
    return lease;
  }

  /** Frees all places that are held. */
  async close(): Promise<void> {
    await Promise.all([...this.#leases].map((lease) => lease.release()));
  }

  /** Puts the real cost in place of a reserved one. */
  async settle(reservation: Reservation, cost: number): Promise<Settlement> {
    const granted = checkReservation(this.#policy, reservation);
    checkCost(cost, 0);
    const { subject, id, cost: reserved, atUs, holdMs, onExpiry, mode } = granted;
    if (mode === 'open') return { settled: true, reason: undefined, limits: [] };
    const { guard, limits } = this.#variants.behind(granted);
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
      const reason = reply.word === 1 ? undefined : reply.word === 0 ? 'already-settled' : 'expired';
      return { settled: reason === undefined, reason, limits: statesOf(limits, reply.numbers) };
    } catch {
      return { settled: false, reason: 'store-unavailable', limits: [] };
    }
  }

  /** Gives a charge back, once; a noted one by settling it, so that it is not given back again when its time is over. */
  async refund(decision: Decision, amount: number): Promise<boolean> {
    const { subject, id: decisionId, cost, atUs, degraded } = decision;
    if (isNoted(decision)) {
      const { settled } = await this.settle(decision, cost - amount);
      return settled && degraded?.mode !== 'open';
    }
    const charge = { subject, decisionId, atUs, amount, ...(amount < cost ? { isPart: true } : {}) };
    return this.#variants.behind(decision).guard.refund(charge, degraded);
  }

  /** Charges every limit, or gives its newest use back; the limits afterwards. */
  async change(kind: 'charge' | 'reward', subject: string, cost: number): Promise<readonly LimitState[]> {
    checkCost(cost, 1);
    const { guard, limits } = this.#variants.of(subject);
    const { numbers } = await guard.act({ kind, subject, cost });
    return statesOf(limits, numbers);
  }

  /** Shuts a subject out; 0 ms lets it in. */
  async block(subject: string, duration: Duration): Promise<boolean> {
    if (this.#plan.blocks === undefined) throw needs('blocks', 'block');
    const cost = lasting(duration, 'duration', 0);
    return (await this.#variants.known(subject).guard.act({ kind: 'block', subject, cost })).word === 1;
  }

  /** Gives a subject limits of its own, or (`undefined`) those of the policy again. */
  async override(subject: string, override: Override | undefined, lasts: Duration): Promise<boolean> {
    if (this.#plan.haveTerms !== true) throw needs('overrides', 'setOverride');
    const cost = override === undefined ? 0 : lasting(lasts, 'lasts', 1);
    const terms = override === undefined ? '' : overrideText(override);
    if (override !== undefined && 'plan' in override) this.#variants.of(subject, override.plan);
    const { word } = await this.#variants.known(subject).guard.act({ kind: 'setTerms', subject, cost, terms });
    this.#variants.learn(subject, terms);
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
