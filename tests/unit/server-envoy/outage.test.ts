import { memoryStore, type Plan, type PolicyStore, type Store, StoreError } from 'comporta';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { shareOf } from '../../../packages/comporta/src/algorithms/share.js';
import { loadDomains } from '../../../packages/server/src/envoy/load.js';
import { type Part, partOf } from '../../../packages/server/src/envoy/part.js';
import { RateLimitService, type ServiceOptions } from '../../../packages/server/src/envoy/service.js';

/** A store that several processes share, until it is away. */
class SharedStore implements Store {
  readonly kind = 'redis';
  readonly #memory = memoryStore();
  /** What every process is told of the others. */
  part: ((who: object) => Part) | undefined;
  isAway = false;

  bind(plan: Plan): PolicyStore {
    const bound = this.#memory.bind(plan);
    const asked = <Given extends unknown[], T>(run: (...given: Given) => T): ((...given: Given) => T) => {
      return (...given) => {
        if (this.isAway) throw new StoreError('unavailable', 'away', { isUnsent: true });
        return run(...given);
      };
    };
    return {
      consume: asked((...given) => bound.consume(...given)),
      peek: asked((...given) => bound.peek(...given)),
      refund: asked((...given) => bound.refund(...given)),
      reset: asked((...given) => bound.reset(...given)),
      act: asked((...given) => (bound.act as NonNullable<PolicyStore['act']>)(...given)),
    };
  }

  /** The same store as one process knows it: it counts the processes. */
  seenBy(part: Part): Store {
    const { kind } = this;
    const whole = { ready: () => this.ready(), ping: () => this.ping(), close: () => this.close() };
    return { kind, ...whole, bind: (plan) => ({ ...this.bind(plan), part: () => part }) };
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  ping(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return this.#memory.close();
  }
}

const domainOf = (limit: number): string =>
  `domain: shop\ndescriptors: [{ key: user, rate_limit: { requests_per_unit: ${limit}, unit: year } }]`;

function serviceOf(limit: number, mode: ServiceOptions['mode'], limiters: ServiceOptions['limiters']) {
  const loaded = loadDomains([{ file: 'shop.yaml', text: domainOf(limit) }], { mode });
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
  const service = new RateLimitService(loaded.domains, { mode, limiters });
  return async (cost = 1) => {
    const descriptors = [{ entries: [{ key: 'user', value: 'a' }], hitsAddend: cost }];
    return service.decide({ domain: 'shop', hitsAddend: 0, descriptors });
  };
}

type Ask = ReturnType<typeof serviceOf>;

async function admittedBy(ask: Ask, times: number): Promise<number> {
  let admitted = 0;
  for (let i = 0; i < times; i++) admitted += (await ask()).isOver ? 0 : 1;
  return admitted;
}

/** Services of so many processes: fixed in their configuration, or as counted by the store. */
function start(limit: number, processes: number, mode: ServiceOptions['mode'], isFixed: boolean) {
  const store = new SharedStore();
  const asks = Array.from({ length: processes }, (_, rank) =>
    isFixed
      ? serviceOf(limit, mode, { store, instances: processes })
      : serviceOf(limit, mode, { store: store.seenBy({ processes, rank }) }),
  );
  return { store, asks };
}

describe.each(['compatible', 'strict'] as const)('in mode %s, without the store', (mode) => {
  describe.each([true, false])('(instances are fixed: %s)', (isFixed) => {
    test.each([
      [20, 2],
      [20, 3],
      [100, 7],
    ])('of %i, %i processes admit the limit together', async (limit, processes) => {
      const { store, asks } = start(limit, processes, mode, isFixed);
      store.isAway = true;
      let admitted = 0;
      for (const ask of asks) admitted += await admittedBy(ask, limit);
      expect(admitted).toBeGreaterThan(limit - processes);
      expect(admitted).toBeLessThanOrEqual(limit);
    });

    test('what was used before counts, and each has its part of what is left', async () => {
      const { store, asks } = start(20, 2, mode, isFixed);
      const [one, other] = asks as [Ask, Ask];
      expect((await admittedBy(one, 4)) + (await admittedBy(other, 4))).toBe(8);
      store.isAway = true;
      const admitted = [await admittedBy(one, 20), await admittedBy(other, 20)];
      // The first heard of four only.
      expect(admitted).toEqual([8, 6]);
    });

    test('a limit below the number of processes still admits one at each', async () => {
      const { store, asks } = start(1, 3, mode, isFixed);
      store.isAway = true;
      for (const ask of asks) expect(await admittedBy(ask, 5)).toBe(1);
    });

    test('a cost above the part passes once', async () => {
      const { store, asks } = start(20, 2, mode, isFixed);
      store.isAway = true;
      const answers = [await asks[0]?.(15), await asks[0]?.(15)];
      expect(answers.map((answer) => answer?.isOver)).toEqual([false, true]);
    });
  });
});

test('what is left, while a process counts alone, is told of its part', async () => {
  const { store, asks } = start(20, 2, 'compatible', true);
  store.isAway = true;
  const { statuses, degraded } = (await asks[0]?.()) ?? { statuses: [], degraded: undefined };
  expect([statuses[0]?.limit?.requestsPerUnit, statuses[0]?.remaining, degraded?.mode]).toEqual([20, 9, 'local']);
});

test('parts are as the library has them', () => {
  const part = fc.record({ processes: fc.integer({ min: 1, max: 1000 }), rank: fc.nat(1000) });
  fc.assert(
    fc.property(fc.nat(2_000_000_000), part, fc.nat(10_000), (whole, of, atLeast) => {
      expect(partOf(whole, of, atLeast)).toBe(shareOf(whole, of, atLeast));
    }),
  );
});
