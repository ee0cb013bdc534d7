import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Hotspots, type Ranking } from '../../../packages/server/src/admin/hotspots.js';
import type { BreakerState } from '../../../packages/server/src/admin/nodes.js';
import { createMetrics } from '../../../packages/server/src/metrics/metrics.js';
import { Registry } from '../../../packages/server/src/metrics/registry.js';
import { metricsText } from '../../../packages/server/src/metrics/text.js';
import { entriesOf, mergeMetrics, snapshotOf } from '../../../packages/server/src/workers/merge-metrics.js';
import { mergeNodes } from '../../../packages/server/src/workers/merge-nodes.js';
import { mergeRankings } from '../../../packages/server/src/workers/merge-ranking.js';
import { Tally } from '../../../packages/server/src/workers/tally.js';

/** The metrics of a process that has served so many requests, of so many ms each. */
function served(count: number, ms: number, gauge: number): Registry {
  const registry = new Registry();
  const calls = registry.createCounter('app.calls');
  const seconds = registry.createHistogram('app.time', { unit: 's', advice: { explicitBucketBoundaries: [0.1, 1] } });
  registry.createObservableGauge('comporta.connections').addCallback(({ observe }) => observe(gauge));
  registry.createObservableGauge('process.uptime', { unit: 's' }).addCallback(({ observe }) => observe(gauge));
  for (let i = 0; i < count; i++) {
    calls.add(1, { 'comporta.route': `/${ms}` });
    calls.add(1);
    seconds.record(ms / 1000);
  }
  return registry;
}

const textOf = (parts: readonly Registry[]): string =>
  metricsText(entriesOf(mergeMetrics(parts.map((part) => snapshotOf(part.entries())))), undefined).body;

describe('metrics of several processes', () => {
  test('are those of one: counts and histograms added up, each gauge as it makes sense', () => {
    expect(textOf([served(2, 50, 7), served(3, 500, 9)])).toBe(`# HELP app_calls_total 
# TYPE app_calls_total counter
app_calls_total{route="/50"} 2
app_calls_total 5
app_calls_total{route="/500"} 3
# HELP app_time_seconds 
# TYPE app_time_seconds histogram
app_time_seconds_bucket{le="0.1"} 2
app_time_seconds_bucket{le="1.0"} 5
app_time_seconds_bucket{le="+Inf"} 5
app_time_seconds_sum 1.6
app_time_seconds_count 5
# HELP comporta_connections 
# TYPE comporta_connections gauge
comporta_connections 16
# HELP process_uptime_seconds 
# TYPE process_uptime_seconds gauge
process_uptime_seconds 9
`);
  });

  test('of one process stay as they are', () => {
    const one = served(2, 50, 7);
    expect(textOf([one])).toBe(metricsText(one.entries(), undefined).body);
  });

  test('have a rule for every gauge that there is', () => {
    const metrics = createMetrics();
    onTestFinished(() => metrics.close());
    const gauges = [...metrics.entries()].filter(({ family }) => family.kind === 'gauge').map(({ name }) => name);
    // A new one needs a look at HIGHEST in merge-metrics.ts, and a line in docs/metrics.md.
    expect(gauges.sort()).toEqual([
      'comporta_breaker_state',
      'comporta_build_info',
      'comporta_connections',
      'comporta_fallback_active',
      'comporta_lease_bound',
      'comporta_reload_failing',
      'nodejs_eventloop_delay_seconds',
      'nodejs_heap_size_used_bytes',
      'process_resident_memory_bytes',
      'process_uptime_seconds',
    ]);
  });

  test('never count back: not while a worker hangs, and not when it is gone', () => {
    const tally = new Tally({ entries: () => [] }, () => 2);
    const told = (count: number) => snapshotOf(served(count, 50, 7).entries());
    const calls = (answers: Parameters<Tally['sum']>[0]): readonly (number | undefined)[] =>
      ['app_calls', 'comporta_connections', 'comporta_workers_ended'].map(
        (name) =>
          tally
            .sum(answers)
            .find((family) => family.name === name)
            ?.samples.at(-1)?.value,
      );
    expect(calls(new Map([1, 2].map((worker) => [worker, told(worker)])))).toEqual([3, 14, 0]);
    expect(calls(new Map([[1, told(5)]]))).toEqual([7, 14, 0]);
    tally.left(2);
    expect(calls(new Map([[1, told(5)]]))).toEqual([7, 7, 1]);
    expect(calls(new Map([[3, told(4)]]))).toEqual([11, 14, 1]);
  });
});

const seen = (item: string) =>
  ({ policy: 'p', decision: { policy: 'p', subject: item, allowed: true }, shadow: false }) as Parameters<
    Hotspots['add']
  >[0];

describe('the hottest subjects of several processes', () => {
  test('are counted within their error, whoever has seen them', () => {
    const stream = fc.array(fc.record({ worker: fc.nat(2), item: fc.nat(600) }), { minLength: 1500, maxLength: 3000 });
    fc.assert(
      fc.property(stream, fc.integer({ min: 1, max: 300 }), (requests, count) => {
        const workers = [0, 1, 2].map(() => new Hotspots(() => 0));
        const truth = new Map<string, number>();
        for (const { worker, item } of requests) {
          const name = `s${item % 3 === 0 ? item % 20 : item}`;
          workers[worker]?.add(seen(name));
          truth.set(name, (truth.get(name) ?? 0) + 1);
        }
        const merged = mergeRankings(
          workers.map((worker) => worker.ranking('requests', count)),
          count,
        );
        expect(merged.total).toBe(requests.length);
        expect(merged.subjects.length).toBeLessThanOrEqual(count);
        for (const { item, count: most, error } of merged.subjects) {
          const times = truth.get(item) ?? 0;
          expect(times).toBeLessThanOrEqual(most);
          expect(times).toBeGreaterThanOrEqual(most - error);
        }
      }),
      { numRuns: 10 },
    );
  });

  test('of one process are its own', () => {
    const only = new Hotspots(() => 0);
    for (const item of ['a', 'b', 'a']) only.add(seen(item));
    const { unseenMax: _, ...ranking } = only.ranking('requests', 2);
    expect(mergeRankings([only.ranking('requests', 2)], 2)).toMatchObject<Omit<Ranking, 'unseenMax'>>(ranking);
  });
});

test('a breaker is as bad as the worst process sees it, and a failure is as old as the first saw it', () => {
  const breaker = (node: string, state: BreakerState['state'], sinceMs: number) =>
    ({ node, timeoutMs: 50, state, previous: 'closed', sinceMs }) as unknown as BreakerState;
  const failure = (sinceMs: number) => ({ policy: 'p', node: 'a', mode: 'local', cause: 'timeout', sinceMs });
  const merged = mergeNodes([
    { breakers: [breaker('b', 'closed', 1), breaker('a', 'open', 5)], failing: [failure(9)] },
    { breakers: [breaker('a', 'open', 4), breaker('b', 'halfOpen', 7)], failing: [failure(8)] },
    { breakers: [breaker('a', 'closed', 2)], failing: [] },
  ]);
  expect(merged.breakers.map(({ node, state, sinceMs }) => [node, state, sinceMs])).toEqual([
    ['a', 'open', 4],
    ['b', 'halfOpen', 7],
  ]);
  expect(merged.failing).toEqual([failure(8)]);
});
