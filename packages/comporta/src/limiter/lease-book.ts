import type { Emitter, LimiterEvents } from '../core/events.js';
import type { Clock } from '../core/time.js';
import type { MaybePromise } from '../stores/store.js';
import { LEAST_UNITS, type LeaseRule } from './lease-rule.js';
import { type Ended, UnitLease } from './unit-lease.js';

const SUBJECTS_MAX = 1000;
/** Subjects of which it is known that they were asked for once while a lease lasts. */
const SEEN_MAX = 1000;

/** A subject with a lease. */
export interface Leased {
  readonly name: string;
  readonly subject: string;
  readonly lease: UnitLease;
  /** Whose limits it is of. */
  readonly by: Lessee;
  /** Units are on their way for which nobody waits. */
  coming: MaybePromise<void>;
  /** The subject was forgotten in the store: what it granted before is not there any more. */
  isForgotten: boolean;
}

/** Who asks the store for units, and gives them back. */
export interface Lessee {
  giveBack(subject: string, ended: Ended): Promise<unknown>;
}

export interface LeaseBookOptions {
  readonly policy: string;
  /** Stands for a process; this one when left out. */
  readonly owner?: object | undefined;
  readonly rule: LeaseRule;
  readonly clock: Clock;
  /** Must never step back. */
  readonly nowUs: () => number;
  readonly events: Emitter<LimiterEvents>;
  /** How many processes share the units; `undefined` while that is not known for sure. */
  readonly processes: () => number | undefined;
}

/** Who all limiters of a process belong to. */
const PROCESS = {};

/**
 * One limiter of each policy leases in a process, whatever store objects there are: the processes are counted, not the
 * limiters in them, and two objects may be of one Redis.
 */
const holders: WeakMap<object, Map<string, LeaseBook>> = new WeakMap();

/** The leases of a limiter, by the short names of their subjects. One timer runs while there are any. */
export class LeaseBook {
  readonly rule: LeaseRule;
  readonly nowUs: () => number;
  readonly #options: LeaseBookOptions;
  readonly #leased: Map<string, Leased> = new Map();
  readonly #seen: Set<string> = new Set();
  #seenSinceUs = Number.NEGATIVE_INFINITY;
  #stopTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(options: LeaseBookOptions) {
    this.rule = options.rule;
    this.nowUs = options.nowUs;
    this.#options = options;
  }

  get size(): number {
    return this.#leased.size;
  }

  get(name: string): Leased | undefined {
    return this.#leased.get(name);
  }

  /** The part of this process of what all may hold at once; 0 where it is not worth a lease. */
  partOf(units: number): number {
    const part = Math.floor(units / (this.#options.processes() ?? Number.POSITIVE_INFINITY));
    return part >= LEAST_UNITS ? part : 0;
  }

  /** The lease of a subject that is hot: asked for twice while a lease lasts. */
  open(name: string, subject: string, by: Lessee): Leased | undefined {
    const known = this.#leased.get(name);
    if (known !== undefined) return known.by === by ? known : undefined;
    if (!this.#isHot(name) || this.#leased.size >= SUBJECTS_MAX || this.#isClosed || !this.#mayLease())
      return undefined;
    const leased = { name, subject, lease: new UnitLease(), by, coming: undefined, isForgotten: false };
    this.#leased.set(name, leased);
    this.#stopTimer ??= this.#startTimer();
    return leased;
  }

  /** What is left is given back, except where the store has forgotten the subject. */
  drop(name: string, isForgotten: boolean): void {
    const leased = this.#leased.get(name);
    if (leased === undefined) return;
    this.#leased.delete(name);
    leased.isForgotten = isForgotten;
    void this.#endAll(leased, 'end');
  }

  /** Never rejects; what is not given back in time is as if used. */
  async giveBack(leased: Leased, ended: Ended | undefined): Promise<void> {
    if (ended === undefined) return;
    const { grant, left } = ended;
    this.#options.events.emit('lease', { policy: this.#options.policy, units: grant.units, unused: left });
    if (left > 0 && !leased.isForgotten) await leased.by.giveBack(leased.subject, ended);
  }

  /** Gives everything back. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer?.();
    const { policy, owner = PROCESS } = this.#options;
    if (holders.get(owner)?.get(policy) === this) holders.get(owner)?.delete(policy);
    const all = [...this.#leased.values()];
    await Promise.all(all.map(({ coming }) => coming));
    this.#leased.clear();
    await Promise.all(all.map((leased) => this.#endAll(leased, 'end')));
  }

  /** The grant in use, and the one after it. */
  async #endAll(leased: Leased, how: 'end' | 'lapse'): Promise<void> {
    const nowUs = this.nowUs();
    const ended = [leased.lease[how](nowUs), leased.lease[how](nowUs)];
    await Promise.all(ended.map((each) => this.giveBack(leased, each)));
  }

  #isHot(name: string): boolean {
    const nowUs = this.nowUs();
    if (nowUs - this.#seenSinceUs >= this.rule.lastsMs * 1000) {
      this.#seen.clear();
      this.#seenSinceUs = nowUs;
    }
    if (this.#seen.has(name)) return true;
    if (this.#seen.size < SEEN_MAX) this.#seen.add(name);
    return false;
  }

  #mayLease(): boolean {
    const { policy, owner = PROCESS } = this.#options;
    const ofOwner = holders.get(owner) ?? new Map<string, LeaseBook>();
    holders.set(owner, ofOwner);
    const holder = ofOwner.get(policy) ?? this;
    ofOwner.set(policy, holder);
    return holder === this;
  }

  /** Twice in the time of a lease: nothing is kept unused for longer than one and a half. */
  #startTimer(): () => void {
    return this.#options.clock.startTimer(this.rule.lastsMs / 2, () => {
      const nowUs = this.nowUs();
      for (const leased of this.#leased.values()) {
        void this.#endAll(leased, 'lapse');
        if (leased.lease.isIdle(nowUs)) this.#leased.delete(leased.name);
      }
      this.#stopTimer = this.#leased.size > 0 ? this.#startTimer() : undefined;
    });
  }
}
