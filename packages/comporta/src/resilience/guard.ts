import type { Degraded } from '../core/decision.js';
import { StoreError, type Waiter } from '../core/waiting.js';
import type {
  Action,
  ActionReply,
  Charge,
  MaybePromise,
  Plan,
  PolicyStore,
  StoreReply,
  Terms,
} from '../stores/store.js';
import { Asker } from './asker.js';
import type { StoreHealth } from './health.js';
import { Ledger } from './ledger.js';
import type { LocalShare } from './local-share.js';
import { creditorOf, PayBack } from './pay-back.js';
import { type Answering, isAdmitted, Posed } from './posed.js';
import type { GuardOptions, Question, RefusalMemory, Taking, TakingAction, UnitLeases } from './question.js';
import type { Reports } from './reports.js';

const aborted = (): StoreError => new StoreError('aborted', 'the caller had aborted before the call');

/**
 * Stands between a limiter and its store: every answer comes within the time limit, and a store that
 * fails is replaced by the failure mode. `local` decides in mode `local` only.
 */
export class Guard {
  /** The store, where it answers at once and cannot fail: there is nothing to guard against. */
  readonly here: PolicyStore | undefined;
  readonly #store: PolicyStore;
  readonly #local: LocalShare;
  readonly #asker: Asker;
  readonly #reports: Reports;
  readonly #onAnswered: () => void;
  readonly #refusals: RefusalMemory | undefined;
  readonly #leases: UnitLeases | undefined;
  readonly #payBack: PayBack | undefined;

  constructor(plan: Plan, store: PolicyStore, local: LocalShare, health: StoreHealth, options: GuardOptions) {
    this.here = store.isLocal === true ? store : undefined;
    this.#store = store;
    this.#local = local;
    this.#asker = new Asker(store, health, options.clock, options.timeoutMs);
    this.#reports = options.reports;
    this.#onAnswered = options.onAnswered;
    this.#refusals = options.refusals;
    this.#leases = options.leases;
    const isOwing = options.mode === 'local' && options.payBack && store.force !== undefined;
    const creditor = creditorOf(this.#asker, (subject, amounts, waiter) =>
      this.#changing(subject, () => store.force?.(subject, amounts, waiter) ?? 0),
    );
    const ledger = isOwing ? new Ledger(plan, options.clock, local.partOf) : undefined;
    this.#payBack = ledger && new PayBack(ledger, options.clock, creditor);
  }

  /** As {@link Guard.ask}, unless it is known here what the store would answer. */
  decide<R>(question: Question<R>): MaybePromise<R> {
    const { operation, subject, cost, signal } = question;
    const known = signal?.aborted === true ? undefined : this.known(operation, subject, cost);
    return known === undefined ? this.ask(question) : question.word(known);
  }

  /** What the store would answer, where that is known without asking it. */
  known(operation: 'consume' | 'peek', subject: string, cost: number): StoreReply | undefined {
    const refusals = operation === 'consume' ? this.#refusals : undefined;
    return this.#leases?.answer(operation, subject, cost) ?? refusals?.answer(subject, cost);
  }

  /** Asks the store. */
  ask<R>(question: Question<R>): MaybePromise<R> {
    const { operation, subject, cost, signal, terms, id } = question;
    const { here } = this;
    if (signal?.aborted === true) return this.#standIn(question, aborted(), '');
    if (here !== undefined) return question.word(here[operation](subject, cost, undefined, terms, id) as StoreReply);
    const sent = operation === 'consume' ? this.#refusals?.sent() : undefined;
    return this.#asker.ask(new Posed(question, this.#answering, sent));
  }

  #answering: Answering = {
    start: ({ operation, subject, cost, terms, id }, waiter) => {
      this.#payBack?.payFirst(subject);
      const leased = this.#leases?.ask(operation, subject, cost, waiter);
      return leased ?? this.#store[operation](subject, cost, waiter, terms, id);
    },
    heard: ({ subject, cost }, sent, reply, node) => {
      this.#answered(node);
      this.#local.saw(subject, reply);
      if (sent !== undefined) this.#refusals?.heard(subject, cost, sent, reply);
    },
    standIn: (question, error, node) => this.#standIn(question, error, node),
  };

  /** Does what has an answer without a store too: takes a part, or reserves. */
  take<R>({ action, timeoutMs, signal, terms, word }: Taking<R>): MaybePromise<R> {
    const { subject } = action;
    const standIn = (error: unknown, node: string): R => this.#standInFor(action, word, error, node);
    if (signal?.aborted === true) return standIn(aborted(), '');
    return this.#asker.ask({
      subject,
      signal,
      timeoutMs,
      start: (waiter) => {
        this.#payBack?.payFirst(subject);
        return this.#acting(action, waiter, terms);
      },
      onValue: (reply: ActionReply, node) => {
        this.#answered(node);
        this.#local.saw(subject, reply);
        return word(reply);
      },
      onError: standIn,
    });
  }

  /** Does what only the store can do; rejects with a {@link StoreError}. */
  async act(action: Action): Promise<ActionReply> {
    if (action.kind === 'block') this.#leases?.drop(action.subject, false);
    const reply = await this.#bounded(action.subject, (waiter) => this.#acting(action, waiter, undefined));
    if (action.kind === 'block') this.#local.block(action.subject, action.cost);
    else this.#local.told(action.subject, reply);
    return reply;
  }

  /** Renews or frees a place that is held here. */
  actLocally(action: Action): ActionReply {
    return this.#local.act(action);
  }

  /** Settles what was reserved here. */
  settleLocally(action: Extract<Action, { kind: 'settle' }>): ActionReply {
    const reply = this.actLocally(action);
    const { subject, id: decisionId, cost, reserved, atUs } = action;
    if (reply.word !== 1) return reply;
    if (cost < reserved) this.#payBack?.forgive({ subject, decisionId, atUs, amount: reserved - cost });
    if (cost > reserved && this.#payBack?.isRecorded(decisionId) === true) {
      this.#payBack.record(subject, cost - reserved, reply.atUs, decisionId);
    }
    return reply;
  }

  #acting(action: Action, waiter: Waiter, terms: Terms | undefined): MaybePromise<ActionReply> {
    const store = this.#store;
    if (store.act === undefined) throw new StoreError('misconfigured', 'the store only decides', { isUnsent: true });
    return this.#changing(action.subject, () => store.act?.(action, waiter, terms) as MaybePromise<ActionReply>);
  }

  /** Refusals are forgotten before a change, for what is asked after it, and after it, for what it overtook. */
  #changing<T>(subject: string, change: () => MaybePromise<T>): MaybePromise<T> {
    const refusals = this.#refusals;
    if (refusals === undefined) return change();
    refusals.drop(subject);
    const work = change();
    if (work instanceof Promise) return work.finally(() => refusals.drop(subject));
    refusals.drop(subject);
    return work;
  }

  /** Refunds where the charge was made; false when the store cannot be reached in time. */
  async refund(charge: Charge, degraded: Degraded | undefined): Promise<boolean> {
    if (degraded !== undefined) {
      this.#payBack?.forgive(charge);
      return degraded.mode === 'local' && this.#local.refund(charge) > 0;
    }
    try {
      const given = await this.#bounded(charge.subject, (waiter) =>
        this.#changing(charge.subject, () => this.#store.refund(charge, waiter)),
      );
      return given > 0;
    } catch {
      return false;
    }
  }

  /** Forgets a subject in the store and locally; rejects with a {@link StoreError}. */
  async reset(subject: string): Promise<number> {
    this.#payBack?.forget(subject);
    try {
      return await this.#bounded(subject, (waiter) =>
        this.#changing(subject, () => this.#store.reset(subject, waiter)),
      );
    } finally {
      this.#leases?.drop(subject, true);
      // Last, for over memory the two are one and the count is the store's.
      this.#local.reset(subject);
    }
  }

  /** Forgets what this process alone knows of a subject. */
  forget(subject: string): void {
    this.#payBack?.forget(subject);
    this.#local.forget(subject);
  }

  /** The store answers: what was admitted in its place is charged. */
  startPayBack(): void {
    this.#payBack?.start();
  }

  close(): void {
    this.#payBack?.stop();
  }

  #bounded<T>(subject: string, start: (waiter: Waiter) => MaybePromise<T>): MaybePromise<T> {
    const onError = (error: unknown, node: string): never => {
      this.#reports.failed(error, node, this.#asker.whereIs(subject));
      throw error;
    };
    return this.#asker.ask({
      subject,
      start,
      signal: undefined,
      timeoutMs: undefined,
      onValue: (value: T) => value,
      onError,
    });
  }

  #standIn<R>(question: Question<R>, error: unknown, node: string): R {
    const { operation, subject, cost, id } = question;
    const degraded = this.#reports.failed(error, node, this.#asker.whereIs(subject));
    if (degraded.mode !== 'local') return question.word({ atUs: 0, numbers: [], degraded });
    const reply = this.#local.decide({ operation, subject, cost, id }, this.#payBack);
    // Where the store may have been reached it may have charged already: better once too few than twice.
    const isOwed = operation === 'consume' && error instanceof StoreError && error.isUnsent && isAdmitted(reply);
    if (isOwed) this.#payBack?.record(subject, cost, reply.atUs, id);
    return question.word({ ...reply, degraded });
  }

  #standInFor<R>(action: TakingAction, word: (reply: ActionReply) => R, error: unknown, node: string): R {
    const { subject } = action;
    const degraded = this.#reports.failed(error, node, this.#asker.whereIs(subject));
    if (degraded.mode !== 'local') {
      const isGiven = degraded.mode === 'open';
      return word({ atUs: 0, numbers: [], degraded, word: isGiven ? Math.max(1, action.cost) : 0 });
    }
    const reply = this.#local.act(action, this.#payBack);
    const charged = action.kind === 'take' ? reply.word : reply.word * action.cost;
    const isOwed = charged > 0 && error instanceof StoreError && error.isUnsent;
    if (isOwed) this.#payBack?.record(subject, charged, reply.atUs, action.id);
    return word({ ...reply, degraded });
  }

  #answered(node: string): void {
    this.#onAnswered();
    this.#reports.answered(node);
  }
}
