import type { Part } from '../algorithms/algorithm.js';
import { sharedLimit, shareOf } from '../algorithms/share.js';
import { shortSubject } from '../stores/keyspace.js';
import type { Plan } from '../stores/store.js';
import type { SplitSettings } from './split-rule.js';

/** Subjects whose turn is remembered; those of others begin anew. */
const TURNS_MAX = 10_000;

/** One part of some limits. */
export interface SplitPlace {
  readonly whole: Plan['limits'];
  readonly part: Part;
}

/** Which subjects are split, whose turn it is, and what each part has of the limits. */
export class Split {
  readonly parts: number;
  readonly #subjects: ReadonlySet<string> | undefined;
  /** The last part of each subject that was asked. */
  readonly #turns: Map<string, number> = new Map();
  readonly #divided: Map<Plan['limits'], readonly Plan['limits'][]> = new Map();
  readonly #places: Map<Plan['limits'], SplitPlace> = new Map();

  constructor({ parts, subjects }: SplitSettings) {
    this.parts = parts;
    this.#subjects = subjects && new Set(subjects);
  }

  has(subject: string): boolean {
    return this.#subjects === undefined || this.#subjects.has(subject);
  }

  /** The next part of a subject in turn, which is smoother than chance; processes begin anywhere. */
  next(subject: string): number {
    const name = shortSubject(subject);
    const last = this.#turns.get(name);
    if (last === undefined && this.#turns.size >= TURNS_MAX) {
      this.#turns.delete(this.#turns.keys().next().value as string);
    }
    const next = last === undefined ? Math.floor(Math.random() * this.parts) : (last + 1) % this.parts;
    this.#turns.set(name, next);
    return next;
  }

  /** Another part than one that was asked, a third of the way round at least: of three masters, on another one. */
  other(rank: number): number {
    const least = Math.ceil(this.parts / 3);
    const offset = least + Math.floor(Math.random() * (this.parts - 2 * least + 1));
    return (rank + offset) % this.parts;
  }

  /** The limits of each part; the first ones have what cannot be divided. */
  limitsOf(whole: Plan['limits']): readonly Plan['limits'][] {
    const known = this.#divided.get(whole);
    if (known !== undefined) return known;
    const divided = Array.from({ length: this.parts }, (_, rank) => {
      const part = { processes: this.parts, rank };
      const limits = shared(whole, part);
      this.#places.set(limits, { whole, part });
      return limits;
    });
    this.#divided.set(whole, divided);
    return divided;
  }

  /** Which part limits are of, if any. */
  placeOf(limits: Plan['limits']): SplitPlace | undefined {
    return this.#places.get(limits);
  }

  /** Whether a cost can ever pass, whichever part is asked. */
  fits(whole: Plan['limits'], cost: number): boolean {
    return fits(this.limitsOf(whole)[this.parts - 1] ?? whole, cost);
  }

  /** Divides a cost over the parts, from the next in turn on; those that get nothing are left out. */
  spread(subject: string, cost: number): readonly { readonly rank: number; readonly cost: number }[] {
    const first = this.next(subject);
    const each = Array.from({ length: this.parts }, (_, i) => ({
      rank: (first + i) % this.parts,
      cost: shareOf(cost, { processes: this.parts, rank: i }, 0),
    }));
    return each.filter((one) => one.cost > 0);
  }
}

/** Some limits as one part has them. */
export function shared(limits: Plan['limits'], part: Part): Plan['limits'] {
  return limits.map((limit) => sharedLimit(limit, part, 0));
}

/** Whether limits could admit a cost at once; places are counted, not costs. */
export function fits(limits: Plan['limits'], cost: number): boolean {
  return limits.every(({ limit, algorithm }) => cost <= limit || algorithm.holds);
}

/** What comes between the id of a decision and the part that made it. */
const MARK = '.';

/** A decision's id that tells its part, wherever it is given back. */
export const idOfPart = (id: string, rank: number): string => `${id}${MARK}${rank.toString(36)}`;

/** The part that a decision was made by; `undefined` where its subject was whole. */
export function rankIn(id: string): number | undefined {
  const at = id.lastIndexOf(MARK);
  return at > 0 ? Number.parseInt(id.slice(at + 1), 36) : undefined;
}
