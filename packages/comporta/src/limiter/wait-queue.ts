import type { Decision } from '../core/decision.js';
import { type Clock, TIMER_MAX_MS } from '../core/time.js';
import type { MaybePromise } from '../stores/store.js';
import { refusedUnasked } from './decision.js';
import { delayAfter, type IsHeld, isSure, leastMs, pacedMs } from './wait-time.js';

/** What waiting needs of its limiter. */
export interface WaitSource {
  readonly clock: Clock;
  /** Decides and charges. */
  ask(subject: string, cost: number): MaybePromise<Decision>;
  /** Returns what was charged for somebody who has left. */
  giveBack(decision: Decision): void;
  /** Told of the final decisions. */
  tell(decision: Decision): void;
  /** Whether a limit counts places that are given back at any time. */
  isHeld(subject: string, limitId: string): boolean;
  /** Whether other processes use the store: then waits are spread. */
  isShared(): boolean;
}

/** Somebody's place in a queue. */
export interface Place {
  readonly cost: number;
  readonly maxWaitMs: number;
  readonly deadlineMs: number;
  resolve(decision: Decision): void;
  reject(error: unknown): void;
}

/** The queue is asleep until its first place may ask again. */
interface Sleep {
  readonly untilMs: number;
  readonly refusal: Decision;
  readonly refusedAtMs: number;
  stop: () => void;
}

/** Processes that wait for one moment come spread over this part of the wait, and over so much at most. */
const JITTER_RATIO = 0.1;
const JITTER_MAX_MS = 100;

/**
 * Those of one subject that wait, in order of coming. Only the first asks the store; it asks again when
 * the store said that it may, and once it is admitted the next one asks. One timer at most.
 */
export class WaitQueue {
  readonly #subject: string;
  readonly #source: WaitSource;
  readonly #onEmpty: () => void;
  readonly #isHeld: IsHeld;
  /** In order of coming. */
  readonly #places: Set<Place> = new Set();
  #totalCost = 0;
  #asking: Place | undefined;
  #sleep: Sleep | undefined;
  /** Refusals in a row that name no sure time. */
  #unsure = 0;
  /** Whether everybody's chances were looked at since the last refusal, and the first deadline found then. */
  #isSwept = true;
  #firstDeadlineMs = Number.POSITIVE_INFINITY;
  #closed: Error | undefined;

  constructor(subject: string, source: WaitSource, onEmpty: () => void) {
    this.#subject = subject;
    this.#source = source;
    this.#onEmpty = onEmpty;
    this.#isHeld = (limitId) => source.isHeld(subject, limitId);
  }

  /** Takes a place at the end, or is refused at once when its turn cannot come in time. */
  join(place: Place): void {
    this.#add(place);
    if (this.#sleep !== undefined) this.#refuseLate(place, this.#sleep, this.#totalCost);
    else if (this.#asking === undefined) this.#run();
    else this.#isSwept = false;
  }

  /** Frees a place whose owner gave up. */
  leave(place: Place, reason: unknown): void {
    if (!this.#remove(place)) return;
    place.reject(reason);
    const next = this.#first();
    // Until the end of the sleep nobody can pass who costs as much or more; who costs less may.
    if (this.#sleep === undefined || (next !== undefined && next.cost >= this.#sleep.refusal.cost)) return;
    this.#wake();
  }

  /** A place was given back: asks now where that may help, which is never while other limits lack room. */
  nudge(): void {
    const sleep = this.#sleep;
    if (sleep === undefined || isSure(sleep.refusal, this.#isHeld)) return;
    if (this.#nowMs() >= sleep.refusedAtMs + pacedMs(sleep.refusal, this.#isHeld)) this.#wake();
  }

  /** Units were given back, or the limits were changed: what the last refusal said holds no longer. */
  recheck(): void {
    if (this.#sleep !== undefined) this.#wake();
  }

  /** Ends all waits. A question that is under way still gets its answer. */
  close(error: Error): void {
    this.#closed = error;
    for (const place of this.#places) if (place !== this.#asking) this.#settle(place, () => place.reject(error));
    if (this.#asking === undefined) this.#wake();
  }

  #wake(): void {
    this.#sleep?.stop();
    this.#sleep = undefined;
    this.#run();
  }

  /** Asks for one after the other until one has to wait or an answer takes time. */
  #run(): void {
    for (let head = this.#first(); head !== undefined; head = this.#first()) {
      // A listener that was told of the last answer joined, and asks already.
      if (this.#asking !== undefined) return;
      const asking = head;
      // Set before asking, for a listener of the limiter's events may join meanwhile.
      this.#asking = asking;
      const answer = this.#source.ask(this.#subject, asking.cost);
      if (answer instanceof Promise) {
        answer.then(
          (decision) => this.#heard(() => this.#answered(asking, decision)),
          (error) => this.#heard(() => this.#settle(asking, () => asking.reject(error))),
        );
        return;
      }
      this.#asking = undefined;
      this.#answered(asking, answer);
      if (this.#sleep !== undefined) return;
    }
    this.#onEmpty();
  }

  #heard(act: () => void): void {
    this.#asking = undefined;
    act();
    if (this.#sleep === undefined) this.#run();
  }

  #answered(head: Place, decision: Decision): void {
    this.#unsure = decision.allowed || isSure(decision, this.#isHeld) ? 0 : this.#unsure + 1;
    // Whoever is first now asks for itself.
    if (!this.#places.has(head)) {
      if (decision.allowed) this.#source.giveBack(decision);
      return;
    }
    const delayMs = decision.allowed ? undefined : this.#delayOf(decision);
    if (delayMs === undefined) this.#settle(head, () => head.resolve(decision));
    else if (this.#closed !== undefined) this.#settle(head, () => head.reject(this.#closed));
    else this.#refused(head, decision, delayMs);
  }

  #refused(head: Place, refusal: Decision, delayMs: number): void {
    const refusedAtMs = this.#nowMs();
    const sleep: Sleep = { untilMs: refusedAtMs + delayMs, refusal, refusedAtMs, stop: () => undefined };
    if (delayMs > this.#leftMs(head)) {
      this.#settle(head, () => head.resolve(refusal));
      // The same answer for those behind who ask for as much and have no more time; the others ask.
      for (const place of this.#places) if (place.cost >= refusal.cost) this.#refuseLate(place, sleep, 0);
      return;
    }
    this.#sleep = sleep;
    this.#sweep(sleep);
    this.#startTimer(sleep, delayMs);
  }

  /** A timer may be early, and long waits take several. More left than ever means that the clock stepped back. */
  #startTimer(sleep: Sleep, delayMs: number): void {
    sleep.stop = this.#source.clock.startTimer(Math.min(Math.ceil(delayMs), TIMER_MAX_MS), () => {
      const leftMs = sleep.untilMs - this.#nowMs();
      if (leftMs > 0 && leftMs <= delayMs) this.#startTimer(sleep, leftMs);
      else this.#wake();
    });
  }

  /** Ms until asking again can help; `undefined` when it never can. */
  #delayOf(refusal: Decision): number | undefined {
    const delayMs = delayAfter(refusal, this.#unsure, this.#isHeld);
    return delayMs === undefined ? undefined : this.#spread(delayMs);
  }

  #spread(delayMs: number): number {
    if (!this.#source.isShared()) return delayMs;
    return delayMs + Math.random() * Math.min(delayMs * JITTER_RATIO, JITTER_MAX_MS);
  }

  /** Refuses all whose turn cannot come in time. Looks through the queue only when that can find somebody. */
  #sweep(sleep: Sleep): void {
    if (this.#isSwept && this.#firstDeadlineMs >= sleep.untilMs) return;
    this.#isSwept = true;
    this.#firstDeadlineMs = Number.POSITIVE_INFINITY;
    let total = 0;
    for (const place of this.#places) {
      if (this.#refuseLate(place, sleep, total + place.cost)) continue;
      total += place.cost;
    }
  }

  /** `total` is the cost of a place and all before it. True when it was refused. */
  #refuseLate(place: Place, sleep: Sleep, total: number): boolean {
    const earliestMs = Math.max(sleep.untilMs, sleep.refusedAtMs + leastMs(sleep.refusal, total, this.#isHeld));
    const waitMs = Math.max(0, earliestMs - this.#nowMs());
    if (waitMs > this.#leftMs(place)) {
      this.#settle(place, () => place.resolve(refusedUnasked(sleep.refusal, place.cost, Math.ceil(waitMs))));
      return true;
    }
    this.#firstDeadlineMs = Math.min(this.#firstDeadlineMs, place.deadlineMs);
    return false;
  }

  #nowMs(): number {
    return this.#source.clock.nowUs() / 1000;
  }

  /** More time than was asked for means that the clock stepped back. */
  #leftMs({ maxWaitMs, deadlineMs }: Place): number {
    return Math.min(maxWaitMs, deadlineMs - this.#nowMs());
  }

  #first(): Place | undefined {
    for (const place of this.#places) return place;
    return undefined;
  }

  #add(place: Place): void {
    this.#places.add(place);
    this.#totalCost += place.cost;
  }

  #remove(place: Place): boolean {
    if (!this.#places.delete(place)) return false;
    this.#totalCost -= place.cost;
    return true;
  }

  #settle(place: Place, settle: () => void): void {
    if (this.#remove(place)) settle();
  }
}
