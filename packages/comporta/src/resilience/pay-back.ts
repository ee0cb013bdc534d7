import { type Clock, nextTurn } from '../core/time.js';
import { StoreError, type Waiter } from '../core/waiting.js';
import type { Charge, MaybePromise } from '../stores/store.js';
import type { Asker } from './asker.js';
import { type Debt, type Ledger, SUBJECTS_MAX } from './ledger.js';

/** Decisions whose ids are remembered; older ones are no longer forgiven when they are given back. */
const RECORDED_MAX = 50_000;
/** How many subjects each admission looks at for what no longer counts: enough to clean faster than subjects come. */
const SWEEP_STEPS = 2;
/** Charges sent together, from one on twice as many each time, and the least pause between such batches. */
const BATCH_MAX = 32;
const PAUSE_MS = 20;
/**
 * The pause grows with the time by which answers take longer than the quickest: many processes pay together, and a
 * server that has just come back and falls behind would be lost again.
 */
const PAUSE_PER_DELAY = 40;
const PAUSE_MAX_MS = 1000;
/** Processes begin spread over this time, since all notice the recovery together. */
const SPREAD_MS = 200;
/** How often to look again for subjects whose node was still away. */
const RETRY_MS = 500;

/** What paying back needs of its surroundings. */
export interface Creditor {
  /** The subject's node answers again. */
  isBack(subject: string): boolean;
  /** Charges the store. False when that was certainly not sent, so that it is still owed. */
  pay(subject: string, amounts: readonly number[]): Promise<boolean>;
}

/** The store, as far as it can be reached. */
export function creditorOf(
  asker: Asker,
  force: (subject: string, amounts: readonly number[], waiter: Waiter) => MaybePromise<unknown>,
): Creditor {
  const onValue = (): boolean => true;
  const onError = (error: unknown): boolean => !(error instanceof StoreError && error.isUnsent);
  return {
    isBack: (subject) => asker.isBack(subject),
    pay: async (subject, amounts) => {
      const start = (waiter: Waiter) => force(subject, amounts, waiter);
      return asker.ask({ subject, start, signal: undefined, timeoutMs: undefined, onValue, onError });
    },
  };
}

/**
 * Remembers what was admitted here in place of the store and charges it once the store is back, as far
 * as it still counts then. Kept like any other use, so it ages by the limits' own rules.
 */
export class PayBack {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #creditor: Creditor;
  readonly #owed: Set<string> = new Set();
  /** Goes on where it stopped, through all that is owed. */
  #cursor: Iterator<string> = this.#owed.values();
  /** Ids of the decisions that were recorded. */
  readonly #recorded: Set<string> = new Set();
  #isRunning = false;
  #isStopped = false;
  #triedAtUs = 0;
  /** The least time in which a batch was answered. */
  #quickestMs: number = Number.POSITIVE_INFINITY;

  constructor(ledger: Ledger, clock: Clock, creditor: Creditor) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#creditor = creditor;
  }

  /** The store goes away; its own use of a subject runs out after so long, limit by limit. */
  begin(subject: string, resetAfterMs: readonly number[]): void {
    this.#ledger.begin(subject, resetAfterMs);
  }

  /** Cost that was admitted here at `atUs`. */
  record(subject: string, cost: number, atUs: number, decisionId: string): void {
    for (let i = 0; i < SWEEP_STEPS; i++) this.#sweepOne();
    if (this.#owed.size >= SUBJECTS_MAX && !this.#owed.has(subject)) return;
    if (this.#recorded.size >= RECORDED_MAX) this.#recorded.delete(this.#recorded.keys().next().value as string);
    this.#recorded.add(decisionId);
    this.#owed.add(subject);
    this.#ledger.add(subject, cost, atUs);
  }

  /** What the store does not know of a subject and still counts, for each limit. */
  owed(subject: string): readonly Debt[] {
    return this.#ledger.owed(subject);
  }

  /** A subject is about to be asked for: where it owes much, that is charged before, and else in the background. */
  payFirst(subject: string): void {
    if (this.#owed.size === 0 || !this.#owed.has(subject) || !this.#creditor.isBack(subject)) return;
    if (this.#ledger.isLarge(subject)) void this.#pay(subject);
  }

  /** Whether a decision was recorded, as far as remembered. */
  isRecorded(decisionId: string): boolean {
    return this.#recorded.has(decisionId);
  }

  /** A local admission was given back. What was not recorded is not owed either. */
  forgive(charge: Charge): void {
    if (!this.#recorded.has(charge.decisionId)) return;
    this.#ledger.refund(charge);
  }

  /** A subject was reset. */
  forget(subject: string): void {
    this.#owed.delete(subject);
    this.#ledger.forget(subject);
  }

  /** Call when the store has answered. Returns at once; pays in the background. */
  start(): void {
    if (this.#owed.size === 0 || this.#isRunning) return;
    const nowUs = this.#clock.nowUs();
    if (Math.abs(nowUs - this.#triedAtUs) < RETRY_MS * 1000) return;
    this.#triedAtUs = nowUs;
    this.#isRunning = true;
    void this.#run().finally(() => {
      this.#isRunning = false;
    });
  }

  /** What is still owed stays unpaid. */
  stop(): void {
    this.#isStopped = true;
  }

  async #run(): Promise<void> {
    await this.#pause(Math.random() * SPREAD_MS);
    const all = [...this.#owed];
    for (let i = 0, size = 1; i < all.length && !this.#isStopped; i += size, size = Math.min(2 * size, BATCH_MAX)) {
      // Looked for as it goes: to find a subject's node takes time, where subjects are long.
      const due = all.slice(i, i + size).filter((subject) => this.#creditor.isBack(subject));
      const sentUs = this.#clock.nowUs();
      await Promise.all(due.map((subject) => this.#pay(subject)));
      if (due.length === 0) await nextTurn();
      else if (i + size < all.length) await this.#pause(this.#pauseMs(sentUs) * (0.5 + Math.random()));
    }
  }

  #pauseMs(sentUs: number): number {
    const tookMs = Math.max(0, this.#clock.nowUs() - sentUs) / 1000;
    // Where nothing counted any more none was sent.
    if (tookMs > 0) this.#quickestMs = Math.min(this.#quickestMs, tookMs);
    return Math.min(PAUSE_MAX_MS, Math.max(PAUSE_MS, PAUSE_PER_DELAY * (tookMs - this.#quickestMs)));
  }

  /** What is not sent stays as it is, each admission with its time; what is admitted meanwhile is owed still. */
  async #pay(subject: string): Promise<void> {
    const amounts = this.owed(subject).map(({ amount }) => amount);
    this.#owed.delete(subject);
    const isNothing = !amounts.some((amount) => amount > 0);
    if (!isNothing && !(await this.#creditor.pay(subject, amounts))) {
      this.#owed.add(subject);
      return;
    }
    const rest = this.owed(subject).map(({ amount }, i) => Math.max(0, amount - (amounts[i] as number)));
    this.#ledger.clear(subject);
    if (this.#owed.has(subject)) this.#ledger.add(subject, rest, this.#clock.nowUs());
  }

  /** What no longer counts must not take the place of what does. */
  #sweepOne(): void {
    const next = this.#cursor.next();
    if (next.done === true) this.#cursor = this.#owed.values();
    else if (this.owed(next.value).every(({ amount }) => amount === 0)) this.#drop(next.value);
  }

  /** Nothing is owed of it now; what the store itself still counts of it may be. */
  #drop(subject: string): void {
    this.#owed.delete(subject);
    this.#ledger.clear(subject);
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.startTimer(delayMs, resolve);
    });
  }
}
