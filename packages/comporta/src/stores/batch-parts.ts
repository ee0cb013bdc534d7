import type { Limit } from '../algorithms/algorithm.js';

/** A decision that is asked for, as it is sent. */
export interface Asked {
  readonly escaped: string;
  readonly cost: string;
  /** What the gates and the limits take of it. */
  readonly tail: readonly string[];
}

/**
 * Most decisions of one call, and most limits in it: so that a server is held up for a fraction of a millisecond, and
 * so that of many decisions a part is on its way while the server works at another.
 */
const DECISIONS_MAX = 32;
const LIMITS_MAX = 128;

export const mostAtOnce = (limits: readonly Limit[]): number =>
  Math.min(DECISIONS_MAX, Math.floor(LIMITS_MAX / limits.length));

/**
 * What is sent around the limits' arguments to decide all of them. Keys of one subject stand for all, and so does one
 * cost where nothing else is said of any; it is left out when it is 1.
 */
export function partsOfAll(
  all: readonly Asked[],
  keysOf: (escaped: string) => readonly string[],
): { readonly keys: readonly string[]; readonly head: readonly string[]; readonly tail: readonly string[] } {
  const first = all[0] as Asked;
  const isOne = all.every(({ escaped }) => escaped === first.escaped);
  const isPlain = all.every(({ cost, tail: own }) => cost === first.cost && own.length === 0);
  const keys: string[] = [];
  const tail: string[] = isPlain && first.cost !== '1' ? [first.cost] : [];
  for (const { escaped, cost, tail: own } of all) {
    if (!isOne || keys.length === 0) keys.push(...keysOf(escaped));
    if (!isPlain) tail.push(cost, ...own);
  }
  return { keys, head: ['', String(all.length)], tail };
}
