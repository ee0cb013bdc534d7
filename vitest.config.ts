import { defineConfig } from 'vitest/config';
import { sourceAliases } from './scripts/lib/aliases.mjs';

// Whole names only: `comporta` must not catch `comporta/redis` as well.
const alias = Object.entries(sourceAliases()).map(([name, replacement]) => ({
  find: new RegExp(`^${name}$`),
  replacement,
}));

const real = { testTimeout: 120_000, hookTimeout: 120_000, retry: 0 };
/** Without a server too, but not in seconds: with the real ones. */
const slow = [
  'tests/unit/http/{adapters,places}.test.ts',
  'tests/unit/testing/adapter-suite.test.ts',
  'tests/unit/server-{metrics,config}/bounds.test.ts',
  'tests/unit/server-{api,admin}/{fuzz,routes}.test.ts',
  'tests/unit/stores/memory-{tables,growth}.test.ts',
  'tests/unit/limiter/unit-lease-bounds.test.ts',
  'tests/property/fleet.test.ts',
];
/** Times are measured on machines that others use too: what fails twice in a row is a fault. */
const measured = { ...real, retry: 1 };

export default defineConfig({
  resolve: { alias },
  test: {
    maxWorkers: 2,
    projects: [
      {
        // No server: pure code, in seconds.
        extends: true,
        test: {
          name: 'fast',
          include: ['packages/*/src/**/*.test.ts', 'tests/{unit,property}/**/*.test.ts'],
          exclude: slow,
          // Loading the same sources anew for each file would take longer than the tests.
          isolate: false,
          // Far above what any needs, so that a busy machine fails none.
          testTimeout: 20_000,
        },
      },
      {
        // Real servers, two files at a time.
        extends: true,
        test: {
          name: 'real',
          include: [...slow, 'tests/{support,twins,conformance,e2e,package,runtimes,apps,browser}/**/*.test.ts'],
          ...real,
        },
      },
      {
        // Timing counts and each file starts many servers: one file at a time, with nothing beside it.
        extends: true,
        test: {
          name: 'alone',
          include: ['tests/{cluster,chaos,speed}/**/*.test.ts'],
          fileParallelism: false,
          ...measured,
        },
      },
    ],
  },
});
