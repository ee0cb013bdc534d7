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
  readonly heardUs: number;
  readonly untilUs: number;
}

/** A grant that has ended, with what was left of it. */
export interface Ended {
  readonly grant: Grant;
  readonly left: number;
}

/** Units fetched ahead for one subject. Pure but for its state; times are those of a clock that never steps back. */
export class UnitLease {
  #grant: Grant | undefined;
  #left = 0;
  /** What is asked for ahead: it doubles while it is used up in time, and is what was used when it was not. */
  #size = LEAST_UNITS;
  /** An answer that comes later is of no use; until then nothing else is asked for. */
  #askedUntilUs = Number.NEGATIVE_INFINITY;
  #isUsed = true;

  /** Takes a cost from what is left; what the store would have answered when it was asked. */
  take(cost: number, nowUs: number): StoreReply | undefined {
    const grant = this.#live(cost, nowUs);
    if (grant === undefined) return undefined;
    this.#left -= cost;
    return replyOf(grant, this.#left, nowUs);
  }

  /** As {@link UnitLease.take}, leaving it there. */
  peek(cost: number, nowUs: number): StoreReply | undefined {
    const grant = this.#live(cost, nowUs);
    return grant && replyOf(grant, this.#left, nowUs);
  }

  /** An answer that may bring units is on its way. */
  isAsked(nowUs: number): boolean {
    return nowUs < this.#askedUntilUs;
  }

  /** Units to ask for, at most so many, for use until then; 0 for none. */
  ask(most: number, untilUs: number): number {
    this.#isUsed = true;
    this.#size = Math.max(LEAST_UNITS, Math.min(this.#size, most));
    if (most < LEAST_UNITS) return 0;
    this.#askedUntilUs = untilUs;
    return this.#size;
  }

  /** What was asked for use until then is answered: with fewer units where the limits have no more. */
  heard(untilUs: number, units: number): void {
    // An answer that is late must not let a further question be asked beside a later one.
    if (untilUs !== this.#askedUntilUs) return;
    this.#askedUntilUs = Number.NEGATIVE_INFINITY;
    if (units < this.#size) this.#size = Math.max(LEAST_UNITS, this.#size >> 1);
  }

  put(grant: Grant): void {
    this.#grant = grant;
    this.#left = grant.units;
  }

  /** Ends the grant, whether or not its time is over. */
  end(nowUs: number): Ended | undefined {
    const [grant, left] = [this.#grant, this.#left];
    if (grant === undefined) return undefined;
    this.#grant = undefined;
    this.#left = 0;
    const isUsedUp = left === 0 || nowUs < grant.untilUs;
    if (isUsedUp && grant.units >= this.#size) this.#size *= 2;
    if (!isUsedUp) this.#size = Math.max(LEAST_UNITS, grant.units - left);
    return { grant, left };
  }

  /** Ends the grant if its time is over. */
  lapse(nowUs: number): Ended | undefined {
    return this.#grant !== undefined && nowUs >= this.#grant.untilUs ? this.end(nowUs) : undefined;
  }

  /** Whether nothing was asked for since the last time, and nothing is left: then the subject is not hot any more. */
  isIdle(nowUs: number): boolean {
    const isIdle = !this.#isUsed && this.#grant === undefined && !this.isAsked(nowUs);
    this.#isUsed = false;
    return isIdle;
  }

  #live(cost: number, nowUs: number): Grant | undefined {
    const grant = this.#grant;
    return grant !== undefined && this.#left >= cost && nowUs < grant.untilUs ? grant : undefined;
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
