import { type Limiter, slidingWindow } from 'comporta';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Server, startServer } from '../support/servers.js';
import { deployment, play, stepsOf, VERSIONS } from '../support/terms-model.js';
import { bucket, processOf, sizeOf } from './live-change-processes.js';
import { callsOf } from './stats.js';

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server?.stop());
beforeEach(() => server.command('FLUSHALL'));

test.each([
  ['an override of a newer version', 'o{"share":0.5,"until":"noon"}', true],
  ['an override to a plan that is not known here', 'o{"plan":"gold"}', true],
  ['a newer revision that is not understood', 'r99{"limits":[{"id":"x","leakyBucket":{}}]}', true],
  ['an older revision that is not understood', 'r2{"limits":[{"id":"x","leakyBucket":{}}]}', false],
  ['a number', '86400000', false],
  ['nothing at all that makes sense', '\u0001{}}o{ é\n', false],
])('%s under the key breaks no decision, and only what is ours may be replaced', async (_, text, isKept) => {
  const told: string[] = [];
  for (const options of [{ revision: 5 }, { overrides: true }]) {
    const limiter = await processOf(server.url, options);
    limiter.on('config', ({ degraded }) => told.push(degraded.detail));
    await server.command('SET', 'cmp1:{s}:api:terms', text);
    for (let i = 0; i < 3; i++) expect(sizeOf(await limiter.consume('s'))).toBe(100);
    const stored = String(await server.command('GET', 'cmp1:{s}:api:terms'));
    if (isKept || !('revision' in options)) expect(stored).toBe(text);
    else expect(stored).toMatch(/^r5\{/);
    await limiter.setOverride('s', { limits: [bucket(7)] }, '1h');
    expect(sizeOf(await limiter.consume('s'))).toBe(7);
    await limiter.removeOverride('s');
  }
  expect(told.length).toBe(2);
});

test.each([
  ['what might be an override', 'o{'],
  ['what might be a revision', 'r9{'],
  ['nothing', ''],
])('bytes that are no text, beginning like %s, break no decision and make none go on asking', async (_, start) => {
  for (const options of [{ revision: 5 }, { overrides: true }]) {
    const limiter = await processOf(server.url, options);
    await server.command(
      'SET',
      'cmp1:{s}:api:terms',
      Buffer.concat([Buffer.from(start), Buffer.from([0xff, 0xc0, 0x80])]),
    );
    const before = await callsOf([server], 'evalsha');
    for (let i = 0; i < 5; i++) expect(sizeOf(await limiter.consume('s'))).toBe(100);
    expect((await callsOf([server], 'evalsha')) - before).toBeLessThanOrEqual(3 * 5 + 2);
    if (options.revision !== undefined) expect(await server.command('GET', 'cmp1:{s}:api:terms')).toMatch(/^r5\{/);
    await server.command('DEL', 'cmp1:{s}:api:terms');
  }
});

test('terms of a revision live for two windows after the last charge; a look changes nothing of that', async () => {
  const limiter = await processOf(server.url, { limits: slidingWindow({ limit: 5, window: '1h' }), revision: 1 });
  const ttlMs = async () => Number(await server.command('PTTL', 'cmp1:{s}:api:terms'));
  await limiter.peek('s');
  expect(await ttlMs()).toBe(-2);
  await limiter.consume('s');
  expect(await ttlMs()).toBeGreaterThan(7_190_000);
  expect(await ttlMs()).toBeLessThanOrEqual(7_201_000);
  await server.command('PEXPIRE', 'cmp1:{s}:api:terms', 60_000);
  await limiter.peek('s');
  expect(await ttlMs()).toBeLessThanOrEqual(60_000);
  await limiter.consume('s');
  expect(await ttlMs()).toBeGreaterThan(7_190_000);
});

test('a foreign type under the key fails that subject alone, and a new override heals it', async () => {
  const limiter = await processOf(server.url, { overrides: true, onStoreFailure: 'local', instances: 1 });
  await server.command('RPUSH', 'cmp1:{s}:api:terms', 'x');
  const decision = await limiter.consume('s');
  expect([decision.allowed, decision.degraded?.mode, decision.degraded?.cause]).toEqual([
    true,
    'local',
    'misconfigured',
  ]);
  for (let i = 0; i < 20; i++) await limiter.consume('s');
  expect(sizeOf(await limiter.consume('other'))).toBe(100);
  await limiter.setOverride('s', { limits: [bucket(7)] }, '1h');
  expect(sizeOf(await limiter.consume('s'))).toBe(7);
  await server.command('DEL', 'cmp1:{s}:api:terms');
  await server.command('RPUSH', 'cmp1:{s}:api:terms', 'x');
  expect(await limiter.removeOverride('s')).toBe(true);
  expect(sizeOf(await limiter.consume('s'))).toBe(100);
});

test('switched on and off by different processes at once, terms never keep a decision from being made', async () => {
  const [one, other, admin] = [
    await processOf(server.url, { overrides: true }),
    await processOf(server.url, { overrides: true }),
    await processOf(server.url, { overrides: true }),
  ];
  let isOver = false;
  const flip = (async () => {
    for (let i = 0; i < 300; i++) {
      if (i % 3 === 2) await admin.removeOverride('s');
      else await admin.setOverride('s', { limits: [bucket(150 + (i % 3))] }, '1h');
    }
    isOver = true;
  })();
  const ask = async (limiter: Limiter): Promise<ReadonlySet<number | undefined>> => {
    const sizes = new Set<number | undefined>();
    while (!isOver) sizes.add(sizeOf(await limiter.consume('s')));
    return sizes;
  };
  const seen = await Promise.all([ask(one), ask(other), flip]);
  for (const sizes of seen.slice(0, 2)) expect([...(sizes ?? [])].toSorted()).toEqual([100, 150, 151]);
});

test('on Redis too each decision is by exactly the terms that a simple model says', async () => {
  const limiters = await Promise.all(
    VERSIONS.map((version) => processOf(server.url, { ...deployment(version), policy: 'model' })),
  );
  let run = 0;
  const property = fc.asyncProperty(stepsOf(40, false), async (steps) => {
    const prefix = `m${run++}-`;
    await play(steps, limiters, { subjectOf: (i) => `${prefix}${i}`, pass: () => Promise.resolve() });
  });
  await fc.assert(property, { numRuns: 60 });
});

test('a sliding window of a new length goes on with the same log', async () => {
  const at = (window: number, revision: number) =>
    processOf(server.url, { policy: 'log', limits: slidingWindow({ limit: 10, window }), revision });
  const [short, long] = [await at(3_600_000, 1), await at(7_200_000, 2)];
  await short.consume('s', { cost: 6 });
  expect((await long.consume('s')).limits).toMatchObject([{ windowMs: 7_200_000, remaining: 3 }]);
  expect((await short.consume('s')).limits).toMatchObject([{ windowMs: 7_200_000, remaining: 2 }]);
});
