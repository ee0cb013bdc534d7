import { createLimiter, fixedWindow, memoryStore } from 'comporta';
import { FakeClock } from 'comporta/testing';
import { expect, onTestFinished, test } from 'vitest';
import { loadDomains } from '../../../packages/server/src/envoy/load.js';
import { RateLimitService, type ServiceOptions } from '../../../packages/server/src/envoy/service.js';
import { createMetrics } from '../../../packages/server/src/metrics/metrics.js';
import { metricsText } from '../../../packages/server/src/metrics/text.js';

const FILE = `domain: shop
descriptors:
  - { key: user, rate_limit: { unit: hour, requests_per_unit: 10 } }
  - { key: tried, shadow_mode: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - { key: one, rate_limit: { unit: hour, requests_per_unit: 1 } }
`;

/** A service whose limiters are counted; `figures` are the lines of some metrics, by name and less the usual labels. */
function counted(options: Partial<ServiceOptions> = {}) {
  const { mode = 'compatible' } = options;
  const loaded = loadDomains([{ file: 'shop.yaml', text: FILE }], { mode });
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
  const metrics = createMetrics();
  onTestFinished(() => metrics.close());
  const service = new RateLimitService(loaded.domains, {
    mode,
    limiters: { store: memoryStore({ clock: new FakeClock(0) }) },
    onLimiter: (limiter) => metrics.follow(limiter),
    ...options,
  });
  const ask = async (key: string, cost = 1) =>
    service.decide({ domain: 'shop', descriptors: [{ entries: [{ key, value: 'a' }] }], hitsAddend: cost });
  const figures = (...names: readonly string[]) =>
    metricsText(metrics.entries(), undefined)
      .body.split('\n')
      .filter((line) => names.some((name) => line.startsWith(`comporta_${name}{`)))
      .map((line) =>
        line.replaceAll(/(algorithm="fixedWindow"|policy="rls.shop"|source="memory"),?/g, '').replace('comporta_', ''),
      );
  return { ask, figures };
}

test.each(['compatible', 'strict'] as const)('in mode %s rules decide by their own limits', async (mode) => {
  const { ask, figures } = counted({ mode });
  for (let i = 0; i < 13; i++) await ask('user');
  expect(figures('decisions_total', 'cost_total', 'near_limit_total', 'quota_utilization_ratio_sum')).toEqual([
    'decisions_total{outcome="allowed",} 10',
    'decisions_total{outcome="denied",} 3',
    'cost_total{} 10',
    expect.stringMatching(/^quota_utilization_ratio_sum\{\} 8\.5/),
    'near_limit_total{} 3',
  ]);
  expect(figures('decision_duration_seconds_count')).toEqual(['decision_duration_seconds_count{} 13']);
});

test.each(['compatible', 'strict'] as const)('in mode %s rules in shadow mode refuse nobody', async (mode) => {
  const { ask, figures } = counted({ mode });
  for (let i = 0; i < 3; i++) expect(await ask('tried')).toMatchObject({ isOver: false });
  const outcome = ['decisions_total{outcome="allowed",} 3', 'would_refuse_total{} 2'];
  expect(figures('decisions_total', 'would_refuse_total')).toEqual(outcome);
  const all = counted({ mode, isShadow: true });
  for (let i = 0; i < 3; i++) expect(await all.ask('one')).toMatchObject({ isOver: false });
  expect(all.figures('decisions_total', 'would_refuse_total')).toEqual(outcome);
});

test('a look that refuses is told once, and one that does not is told by what follows', async () => {
  const { ask, figures } = counted({ stopsWhenOver: true });
  for (let i = 0; i < 3; i++) await ask('one');
  expect(figures('decisions_total', 'cost_total')).toEqual([
    'decisions_total{outcome="allowed",} 1',
    'decisions_total{outcome="denied",} 2',
    'cost_total{} 1',
  ]);
});

test('a cost above every limit is refused, and one that was admitted is counted whole', async () => {
  const { ask, figures } = counted();
  await ask('user', 2_000_000_000);
  await ask('user', 4);
  expect(figures('decisions_total', 'cost_total')).toEqual([
    'decisions_total{outcome="denied",} 1',
    'decisions_total{outcome="allowed",} 1',
    'cost_total{} 4',
  ]);
});

test('a listener that throws changes no answer', async () => {
  const loaded = loadDomains([{ file: 'shop.yaml', text: FILE }], { mode: 'compatible' });
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
  const limiters = { store: memoryStore() };
  const onLimiter: ServiceOptions['onLimiter'] = (limiter) =>
    limiter.on('decision', () => {
      throw new Error('a fault of the listener');
    });
  const service = new RateLimitService(loaded.domains, { mode: 'compatible', limiters, onLimiter });
  const descriptors = [{ entries: [{ key: 'one', value: 'a' }] }];
  expect(await service.decide({ domain: 'shop', descriptors, hitsAddend: 0 })).toMatchObject({ isOver: false });
  // Control: an ordinary limiter does the same.
  const limiter = createLimiter({ policy: 'p', limits: fixedWindow({ limit: 1, window: '1d' }) });
  limiter.on('decision', () => {
    throw new Error('a fault of the listener');
  });
  expect(await limiter.consume('a')).toMatchObject({ allowed: true });
  await limiter.close();
});

test('a field that mode strict alone has is named so', () => {
  const text = 'domain: d\ndescriptors:\n  - { key: a, limits: [{ fixedWindow: { limit: 1, window: 1s } }] }\n';
  const loaded = loadDomains([{ file: 'd.yaml', text }], { mode: 'compatible' });
  const [first] = 'problems' in loaded ? loaded.problems : [];
  expect(first?.problem).toMatchObject({
    line: 3,
    message: 'unknown field',
    hint: expect.stringContaining('mode: strict'),
  });
  expect(loadDomains([{ file: 'd.yaml', text }], { mode: 'strict' })).toHaveProperty('domains');
});
