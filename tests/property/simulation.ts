import { type Decision, type FailureMode, type Limiter, slidingWindow } from 'comporta';
import fc from 'fast-check';
import { expect } from 'vitest';
import { wire } from '../../packages/comporta/src/limiter/create.js';
import type { StoreReply } from '../../packages/comporta/src/stores/store.js';
import { FakeClock } from '../support/fake-clock.js';
import { isAllowed, numbersOf } from '../support/memory-bench.js';
import { type Asked, type Fate, FaultyStore } from './faulty-store.js';
import { LocalModel } from './local-model.js';

export const LIMIT = 3;
export const WINDOW_MS = 200;
const TIMEOUT_MS = 50;

export interface Step {
  readonly action: 'consume' | 'peek' | 'refund';
  readonly subject: string;
  readonly cost: number;
  /** The caller's own time limit, and when it gives up; `undefined` for neither. */
  readonly timeoutMs: number | undefined;
  readonly abortMs: number | undefined;
  /** Which earlier decision a refund means. */
  readonly back: number;
  /** Time that passes before the next step. */
  readonly passMs: number;
}

export interface Scenario {
  readonly mode: FailureMode;
  readonly fates: readonly Fate[];
  readonly steps: readonly Step[];
}

const often = <T>(usual: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });

const fate: fc.Arbitrary<Fate> = fc.record({
  end: often<Fate['end']>(
    'answer',
    fc.constantFrom('throw', 'fail unsent', 'fail undone', 'fail done', 'hang undone', 'hang done'),
  ),
  sendMs: often(0, fc.constantFrom(1, 20, 49, 50, 51, 120)),
  replyMs: often(1, fc.constantFrom(0, 20, 49, 50, 51, 120)),
});

const step: fc.Arbitrary<Step> = fc.record({
  action: fc.constantFrom('consume', 'consume', 'consume', 'peek', 'refund'),
  subject: fc.constantFrom('a', 'a', 'b'),
  cost: fc.constantFrom(1, 1, 1, 2, 0, 3, 4),
  timeoutMs: often<number | undefined>(undefined, fc.constantFrom(0, 1, 10, 50, 1000)),
  abortMs: often<number | undefined>(undefined, fc.constantFrom(0, 1, 30, 60)),
  back: fc.nat(3),
  passMs: fc.constantFrom(0, 0, 0, 1, 5, 30, 50, 70, 199, 200, 400),
});

export const scenario: fc.Arbitrary<Scenario> = fc.record({
  mode: fc.constantFrom<FailureMode>('local', 'open', 'closed'),
  fates: fc.array(fate, { minLength: 1, maxLength: 20 }),
  steps: fc.array(step, { minLength: 1, maxLength: 20 }),
});

/** A decision that was asked for, and what is known of it. */
interface Pending {
  readonly step: Step;
  /** What the store was asked on its behalf; nothing when the caller had given up before. */
  readonly asked: Asked | undefined;
  /** When it must have settled: time limit or the caller's giving up. */
  readonly dueUs: number;
  decision?: Decision;
  isChecked: boolean;
  isRefunded: boolean;
}

/** Plays a scenario and checks after every step what must hold whatever the network does. */
export class Simulation {
  readonly clock: FakeClock = new FakeClock();
  readonly store: FaultyStore;
  readonly pending: Pending[] = [];
  readonly changes: string[] = [];
  /** Failures that the limiter told of, and those that there were. */
  readonly failures = { told: 0, real: 0 };
  readonly #limiter: Limiter;
  readonly #mode: FailureMode;
  /** Played with what the limiter decides locally, to tell what that must be. */
  readonly #local: LocalModel = new LocalModel(LIMIT, WINDOW_MS);

  constructor({ mode, fates }: Pick<Scenario, 'mode' | 'fates'>) {
    this.#mode = mode;
    this.store = new FaultyStore(this.clock, fates);
    const limits = slidingWindow({ limit: LIMIT, window: WINDOW_MS });
    const options = { policy: 'p', limits, store: this.store, timeoutMs: TIMEOUT_MS, onStoreFailure: mode };
    this.#limiter = wire(options, this.clock);
    this.#limiter.on('storeError', () => this.failures.told++);
    this.#limiter.on('degraded', () => this.changes.push('degraded'));
    this.#limiter.on('recovered', () => this.changes.push('recovered'));
  }

  async play(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      if (step.action === 'refund') this.#refund(step);
      else this.#decide(step);
      await this.clock.pass(step.passMs);
      this.#check();
    }
    await this.clock.pass(1000);
    this.#check();
    expect(this.clock.timers).toBe(0);
    expect(this.failures.told).toBe(this.failures.real);
  }

  #decide(step: Step): void {
    const { action, subject, cost, timeoutMs, abortMs } = step;
    const [abort, before] = [new AbortController(), this.store.asked.length];
    if (abortMs === 0) abort.abort();
    else if (abortMs !== undefined) this.clock.startTimer(abortMs, () => abort.abort());
    const waitMs = Math.min(TIMEOUT_MS, timeoutMs ?? TIMEOUT_MS, abortMs ?? TIMEOUT_MS);
    const options = { cost, signal: abort.signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    const answer = this.#limiter[action === 'peek' ? 'peek' : 'consume'](subject, options);
    const asked = this.store.asked.slice(before);
    const operation = action === 'peek' || cost === 0 ? 'peek' : 'consume';
    expect(asked.map((call) => call.operation)).toEqual(abortMs === 0 ? [] : [operation]);
    const dueUs = this.clock.nowUs() + waitMs * 1000;
    const entry: Pending = { step, asked: asked[0], dueUs, isChecked: false, isRefunded: false };
    this.pending.push(entry);
    void answer.then((decision) => {
      entry.decision = decision;
      expect(this.clock.nowUs()).toBeLessThanOrEqual(entry.dueUs);
      if (decision.degraded?.mode === 'local') this.#compareLocal(operation, decision);
      if (decision.degraded === undefined && decision.binding !== undefined) {
        this.#local.said(subject, this.clock.nowUs(), decision.binding.remaining, decision.binding.resetAfterMs);
      }
      if (decision.degraded !== undefined && decision.degraded.cause !== 'aborted') this.failures.real++;
    });
  }

  #refund({ back }: Step): void {
    const charged = this.pending.filter(
      ({ step, decision }) => step.action === 'consume' && decision?.allowed === true,
    );
    const entry = charged.at(-1 - back);
    if (entry?.decision === undefined) return;
    const { subject, id: decisionId, atUs, cost: amount, degraded } = entry.decision;
    const [dueUs, before] = [this.clock.nowUs() + TIMEOUT_MS * 1000, this.store.asked.length];
    if (degraded?.mode === 'local') this.#local.refund(subject, decisionId, this.clock.nowUs(), atUs, amount);
    const refunded = this.#limiter.refund(entry.decision);
    const asked = this.store.asked[before];
    expect(asked !== undefined).toBe(degraded === undefined && amount > 0);
    void refunded.then((given) => {
      expect(this.clock.nowUs()).toBeLessThanOrEqual(dueUs);
      if (asked !== undefined && !(asked.answeredUs !== undefined && asked.answeredUs < dueUs)) this.failures.real++;
      if (!given) return;
      expect(entry.isRefunded).toBe(false);
      entry.isRefunded = true;
    });
  }

  #compareLocal(operation: 'consume' | 'peek', { subject, cost, allowed, binding }: Decision): void {
    const charge = operation === 'consume' ? cost : 0;
    const expected = this.#local.decide(subject, this.clock.nowUs(), cost, charge);
    expect({ allowed, remaining: binding?.remaining }).toEqual(expected);
  }

  #check(): void {
    for (const entry of this.pending.filter(({ isChecked }) => !isChecked)) {
      entry.isChecked = entry.decision !== undefined;
      if (entry.decision !== undefined) this.#checkDecision(entry, entry.decision);
      else expect(entry.dueUs).toBeGreaterThanOrEqual(this.clock.nowUs());
    }
    expect(excess(this.store.charges.filter(({ isBack }) => !isBack))).toBeUndefined();
    expect(excess(this.#localCharges())).toBeUndefined();
    expect(this.changes).toEqual(this.changes.map((_, i) => (i % 2 === 0 ? 'degraded' : 'recovered')));
  }

  #checkDecision({ asked, dueUs }: Pending, decision: Decision): void {
    expect(decision.allowed).toBe(decision.reason === undefined);
    if (decision.degraded === undefined) {
      const reply = asked?.reply as StoreReply;
      expect(asked?.answeredUs).toBeDefined();
      expect(decision.allowed).toBe(isAllowed(reply));
      expect(decision.binding?.remaining).toBe(numbersOf(reply).remaining);
      return;
    }
    expect(asked?.answeredUs === undefined || asked.answeredUs >= dueUs).toBe(true);
    expect(decision.degraded.mode).toBe(this.#mode);
    if (this.#mode === 'local') expect(decision.limits.length).toBe(1);
    else expect([decision.limits, decision.allowed]).toEqual([[], this.#mode === 'open']);
    if (this.#mode === 'closed') expect(decision.reason).toBe('store-unavailable');
  }

  /** What was admitted locally and not given back. */
  #localCharges(): { subject: string; atUs: number; cost: number }[] {
    return this.pending.flatMap(({ step, decision, isRefunded }) =>
      step.action === 'consume' && decision?.degraded?.mode === 'local' && decision.allowed && !isRefunded
        ? [decision]
        : [],
    );
  }
}

/** A window that holds more than the limit; `undefined` when none does. */
function excess(charges: readonly { subject: string; atUs: number; cost: number }[]): string | undefined {
  for (const last of charges) {
    const inside = charges.filter(
      ({ subject, atUs }) => subject === last.subject && atUs <= last.atUs && atUs > last.atUs - WINDOW_MS * 1000,
    );
    const total = inside.reduce((sum, { cost }) => sum + cost, 0);
    if (total > LIMIT) return `${total} admitted for ${last.subject} up to ${last.atUs}`;
  }
  return undefined;
}
