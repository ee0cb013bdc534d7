import type { StoreReply } from '../stores/store.js';
import { LEAST_UNITS } from './lease-rule.js';

/** What the store granted ahead: admitted there, and not yet here. */
export interface Grant {
  /** Under this id and at this time of the store it was charged. */
  readonly id: string;
  readonly atUs: number;
  /** Four per limit, after the charge. */
  readonly numbers: readonly number[];
  readonly units: number;
  /** By the clock of this process. */
  readonly sentUs: number;
  readonly heardUs: number;
  readonly untilUs: number;
}

/** A grant that has ended, with what was left of it. */
export interface Ended {
  readonly grant: Grant;
  readonly left: number;
}

/** A grant in use, or the one to be used after it. */
interface Held {
  readonly grant: Grant;
  left: number;
  /** With more left it is not low, and nothing is reckoned. */
  lookAt: number;
  /** It brought all that was wanted: once it is used up in time, more is. */
  mayGrow: boolean;
}

/** The next units are fetched while what is left lasts for one way there and back, so that nobody waits, to so many. */
const WAYS_MAX = 3;
/** Fewer than any that are left. */
const NEVER = -1;

/** Units fetched ahead for one subject. Pure but for its state; times are those of a clock that never steps back. */
export class UnitLease {
  #current: Held | undefined;
  /** Fetched before the other was used up. */
  #next: Held | undefined;
  /** What is to be held: it doubles while it is used up in time, and is what was used when it was not. */
  #size = LEAST_UNITS;
  /** What was held when units were asked for last. */
  #besides = 0;
  /** An answer that comes later is of no use; until then nothing else is asked for. */
  #askedUntilUs = Number.NEGATIVE_INFINITY;
  #isUsed = true;

  get hasNext(): boolean {
    return this.#next !== undefined;
  }

  /** Takes a cost from what is left; what the store would have answered when it was asked. */
  take(cost: number, nowUs: number): StoreReply | undefined {
    const held = this.#live(cost, nowUs);
    if (held === undefined) return undefined;
    held.left -= cost;
    return replyOf(held.grant, held.left, nowUs);
  }

  /** As {@link UnitLease.take}, leaving it there. */
  peek(cost: number, nowUs: number): StoreReply | undefined {
    const held = this.#live(cost, nowUs);
    return held && replyOf(held.grant, held.left, nowUs);
  }

  /** An answer that may bring units is on its way. */
  isAsked(nowUs: number): boolean {
    return nowUs < this.#askedUntilUs;
  }

  /** At the pace so far it is used up soon, and not before more could be here; said once of each grant. */
  isLow(nowUs: number): boolean {
    const held = this.#current;
    if (held === undefined || held.left > held.lookAt || this.#next !== undefined || this.isAsked(nowUs)) return false;
    const { grant, left } = held;
    const wayUs = grant.heardUs - grant.sentUs;
    const lastsUs = (left * (nowUs - grant.heardUs)) / (grant.units - left);
    const isLow = lastsUs > wayUs && lastsUs <= WAYS_MAX * wayUs;
    if (isLow) held.lookAt = NEVER;
    // When it will be at this pace; where it is too late already, the pace may still slow down.
    else held.lookAt = lastsUs > wayUs ? Math.floor((left * WAYS_MAX * wayUs) / lastsUs) : left >> 1;
    return isLow;
  }

  /** Units to ask for beside those that are held, at most so many with them, for use until then; 0 for none. */
  ask(most: number, untilUs: number): number {
    this.#isUsed = true;
    if (this.#current !== undefined) this.#grow(this.#current);
    this.#size = Math.max(LEAST_UNITS, Math.min(this.#size, most));
    this.#besides = this.#current?.left ?? 0;
    const units = Math.min(this.#size, most - this.#besides);
    if (units < LEAST_UNITS) return 0;
    this.#askedUntilUs = untilUs;
    return units;
  }

  /** What was asked for use until then is answered: with fewer units where the limits have no more. */
  heard(untilUs: number, units: number): void {
    // An answer that is late must not let a further question be asked beside a later one.
    if (untilUs !== this.#askedUntilUs) return;
    this.#askedUntilUs = Number.NEGATIVE_INFINITY;
    if (units + this.#besides < this.#size) this.#size = Math.max(LEAST_UNITS, this.#size >> 1);
  }

  put(grant: Grant): void {
    const { units } = grant;
    // A call for fewer than three quarters of what is held would make calls many more.
    const held = { grant, left: units, lookAt: units >> 2, mayGrow: units + this.#besides >= this.#size };
    if (this.#current === undefined) this.#current = held;
    else this.#next = held;
  }

  /** Ends the grant in use, whether or not its time is over; the next one is then in use. */
  end(nowUs: number): Ended | undefined {
    const held = this.#current;
    if (held === undefined) return undefined;
    this.#current = this.#next;
    this.#next = undefined;
    const { grant, left } = held;
    const isUsedUp = left === 0 || nowUs < grant.untilUs;
    if (isUsedUp) this.#grow(held);
    else this.#size = Math.max(LEAST_UNITS, grant.units - left);
    return { grant, left };
  }

  /** Ends the grant in use if its time is over. */
  lapse(nowUs: number): Ended | undefined {
    return this.#current !== undefined && nowUs >= this.#current.grant.untilUs ? this.end(nowUs) : undefined;
  }

  /** Whether nothing was asked for since the last time, and nothing is left: then the subject is not hot any more. */
  isIdle(nowUs: number): boolean {
    const isIdle = !this.#isUsed && this.#current === undefined && !this.isAsked(nowUs);
    this.#isUsed = false;
    return isIdle;
  }

  /** Units that are held, and still charged. */
  get held(): number {
    return (this.#current?.left ?? 0) + (this.#next?.left ?? 0);
  }

  #grow(held: Held): void {
    if (held.mayGrow) this.#size *= 2;
    held.mayGrow = false;
  }

  #live(cost: number, nowUs: number): Held | undefined {
    const held = this.#current;
    return held !== undefined && held.left >= cost && nowUs < held.grant.untilUs ? held : undefined;
  }
}

/** What is left here counts as remaining too: this process may still use it. */
export function replyOf({ atUs, numbers, heardUs }: Grant, left: number, nowUs: number): StoreReply {
  const passedMs = Math.floor((nowUs - heardUs) / 1000);
  const now = new Array<number>(numbers.length);
  for (let i = 0; i < numbers.length; i += 4) {
    now[i] = (numbers[i] as number) + left;
    now[i + 1] = 0;
    now[i + 2] = Math.max(0, (numbers[i + 2] as number) - passedMs);
    now[i + 3] = Math.max(0, (numbers[i + 3] as number) - passedMs);
  }
  return { atUs, numbers: now };
}
