import type { Limit, Part } from './algorithm.js';

/** A process's part of a whole number, the first by rank taking the remainder; never below `atLeast`, nor above all. */
export function shareOf(whole: number, { processes, rank }: Part, atLeast: number): number {
  const part = Math.floor(whole / processes) + (rank < whole % processes ? 1 : 0);
  return Math.max(part, Math.min(whole, atLeast));
}

/** For the window algorithms, whose first argument is the limit. */
export function shareWindow([limit, ...rest]: readonly number[], part: Part, atLeast: number): readonly number[] {
  return [shareOf(limit as number, part, atLeast), ...rest];
}

/** A limit of which one process has its part. */
export function sharedLimit<L extends Limit>(limit: L, part: Part, atLeast: number): L {
  const { algorithm, argsAt } = limit;
  let whole = limit.args;
  let args = algorithm.share(whole, part, atLeast);
  const shared = { ...limit, args, limit: algorithm.capacity(args) };
  if (argsAt === undefined) return shared;
  const sharedAt = (nowMs: number): readonly number[] => {
    const now = argsAt(nowMs);
    if (now !== whole) args = algorithm.share(now, part, atLeast);
    whole = now;
    return args;
  };
  return { ...shared, argsAt: sharedAt };
}
