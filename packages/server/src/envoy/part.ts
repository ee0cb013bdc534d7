import type { PolicyStore } from 'comporta';

/** What of a limit one process enforces while the store is away. */
export type Part = ReturnType<NonNullable<PolicyStore['part']>>;

/** The whole of it. */
export const WHOLE: Part = { processes: 1, rank: 0 };

/** A part of a whole number, as the library divides limits: never below `atLeast`, nor above all. */
export function partOf(whole: number, { processes, rank }: Part, atLeast: number): number {
  const part = Math.floor(whole / processes) + (rank < whole % processes ? 1 : 0);
  return Math.max(part, Math.min(whole, atLeast));
}
