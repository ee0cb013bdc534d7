// Written by `npm run bench figures -- --write`.
export const MEASURED = {
  tokenBucket: { cpuUs: 7.5, furtherCpuUs: 5, inBytes: 182, outBytes: 44, replicaBytes: 113, bytes: { 1: 201 } },
  slidingWindow: {
    cpuUs: 9.5,
    furtherCpuUs: 6.4,
    inBytes: 182,
    outBytes: 56,
    replicaBytes: 181,
    bytes: { 10: 382, 100: 1776, 1000: 14622 },
  },
  slidingWindowCounter: {
    cpuUs: 5.8,
    furtherCpuUs: 3.5,
    inBytes: 169,
    outBytes: 56,
    replicaBytes: 113,
    bytes: { 1: 176 },
  },
  fixedWindow: { cpuUs: 5.7, furtherCpuUs: 3.3, inBytes: 177, outBytes: 54, replicaBytes: 105, bytes: { 1: 176 } },
  quota: { cpuUs: 7.5, furtherCpuUs: 5.7, inBytes: 225, outBytes: 66, replicaBytes: 105, bytes: { 1: 198 } },
  concurrency: {
    cpuUs: 13.8,
    furtherCpuUs: 12.1,
    inBytes: 168,
    outBytes: 55,
    replicaBytes: 200,
    bytes: { 10: 385, 100: 2705, 1000: 110684 },
  },
} as const;
