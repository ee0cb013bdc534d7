export function zipfRank(random: number, n: number): number;
export function closedLoop(
  decide: (subject: string) => number | Promise<number>,
  subjects: readonly string[],
  options: { readonly inFlight: number; readonly ms: number },
): Promise<{ readonly admitted: number; readonly refused: number; readonly degraded: number; readonly errors: number }>;
