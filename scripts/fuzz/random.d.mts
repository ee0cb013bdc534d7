/** A whole number from 0 to below what it is given. */
export type Random = (below: number) => number;

export function randomOf(seed: number): Random;
export function pick<T>(random: Random, list: readonly T[]): T;
