import type { Part } from './algorithm.js';

/** A process's part of a whole number, the first by rank taking the remainder; never below `atLeast`, nor above all. */
export function shareOf(whole: number, { processes, rank }: Part, atLeast: number): number {
  const part = Math.floor(whole / processes) + (rank < whole % processes ? 1 : 0);
  return Math.max(part, Math.min(whole, atLeast));
}

/** For the window algorithms, whose first argument is the limit. */
export function shareWindow([limit, ...rest]: readonly number[], part: Part, atLeast: number): readonly number[] {
  return [shareOf(limit as number, part, atLeast), ...rest];
}
