/** The store's part of a caller's time: the rest is for the way there and back. */
const TIME_RATIO = 0.8;

/** Time limits of callers, in ms, that have breakers here; a call goes by that of the longest it waits for. */
const CLASSES_MS: readonly number[] = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 15_000];

export interface StoreTime {
  /** How long the store is waited for, in ms. */
  readonly limitMs: number;
  /** Whose breaker is asked and told. */
  readonly breakerMs: number;
}

const storePart = (timeoutMs: number): number => Math.max(1, Math.floor(timeoutMs * TIME_RATIO));

/**
 * What is left for the store of a caller's time limit. Callers choose their limits freely and a node has room for
 * few breakers, so those are of limits that are fixed here: whoever waits at least as long and gets no answer has
 * shown that the node is too slow for that limit, and nothing of longer ones.
 */
export function storeTimeOf(timeoutMs: number): StoreTime {
  const classMs = CLASSES_MS.findLast((each) => each <= timeoutMs) ?? (CLASSES_MS[0] as number);
  return { limitMs: storePart(timeoutMs), breakerMs: storePart(classMs) };
}
