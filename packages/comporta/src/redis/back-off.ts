/** Wait before reconnection attempt n: 50 ms, doubling up to half a second, so that recovery is noticed quickly. */
export function backOffMs(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 5), 500);
}
