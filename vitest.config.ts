import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { sourceAliases } from './scripts/lib/aliases.mjs';

// Whole names only: `comporta` must not catch `comporta/redis` as well.
const alias = Object.entries(sourceAliases()).map(([name, replacement]) => ({
  find: new RegExp(`^${name}$`),
  replacement,
}));

/** Times are measured on machines that others use too: what fails twice in a row is a fault. */
const real = { testTimeout: 120_000, hookTimeout: 120_000, retry: 1 };
/** Without a server too, but not in seconds: with the real ones. */
const slow = [
  'tests/unit/http/{adapters,places}.test.ts',
  'tests/unit/testing/adapter-suite.test.ts',
  'tests/unit/server-{metrics,config}/bounds.test.ts',
  'tests/unit/server-{api,admin}/{fuzz,routes}.test.ts',
  'tests/unit/stores/memory-{tables,growth}.test.ts',
  'tests/unit/limiter/unit-lease-bounds.test.ts',
  'tests/property/{fleet,simulation}.test.ts',
];
/** Of clusters and faults too, but they count, ask how long it took of nothing, and leave others some processor. */
const counted = [
  'tests/cluster/{batch-alike,live-change-terms,reservations,split}.test.ts',
  'tests/chaos/long-outage.test.ts',
];
/** They begin first, so that none is alone at the end: on a fresh clone nobody knows how long each takes. */
const longest = [
  'twins/twins',
  'e2e/doctor-places',
  'e2e/alerts',
  'e2e/doctor',
  'e2e/connect-sentinel',
  'conformance/client-settings',
  'chaos/long-outage',
  'e2e/workers',
  'conformance/failover',
  'cluster/reservations',
  'package/package',
].map((name) => `/tests/${name}.test.ts`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const index = longest.findIndex((end) => moduleId.endsWith(end));
      return index < 0 ? longest.length : index;
    };
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}

export default defineConfig({
  resolve: { alias },
  test: {
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
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
        // Real servers. Files wait for them half of the time, so more of them run than there are processors.
        extends: true,
        test: {
          name: 'real',
          include: [
            ...slow,
            ...counted,
            'tests/{support,twins,conformance,e2e,package,runtimes,apps,browser}/**/*.test.ts',
          ],
          maxWorkers: Math.min(6, Math.ceil(1.5 * availableParallelism())),
          sequence: { groupOrder: 1 },
          ...real,
        },
      },
      {
        // Timing counts and each file starts many servers: one file at a time, with nothing beside it.
        extends: true,
        test: {
          name: 'alone',
          include: ['tests/{cluster,chaos,speed}/**/*.test.ts'],
          exclude: counted,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
          ...real,
        },
      },
    ],
  },
});
