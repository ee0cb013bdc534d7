/** CLOCK_MONOTONIC in µs: one clock for every process of this machine. */
export const monotonicUs = (): number => Number(process.hrtime.bigint() / 1000n);
