import type { LimiterOptions } from 'comporta';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type FaultProxy, startProxy } from '../support/proxy.js';
import { type Server, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';
import { bucket, processOf, sizeOf } from './live-change-processes.js';
import { callsOf } from './stats.js';

let server: Server;
let proxy: FaultProxy;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server?.stop());
beforeEach(async () => {
  await server.command('FLUSHALL');
  proxy = await startProxy(server);
});
afterEach(() => proxy.close());

/** Commands about a subject that reached the server through the proxy since the last look, by name. */
function sentFor(subject: string): readonly string[] {
  const names = proxy.seen
    .filter(({ args }) => args.some((arg) => arg.includes(`{${subject}}`)))
    .map(({ name }) => name);
  proxy.forget();
  return names;
}

const times = (count: number): readonly string[] => Array(count).fill('EVALSHA');
test.each<[string, Partial<LimiterOptions>]>([
  ['plans', { plans: { pro: bucket(500) }, planOf: () => 'pro' }],
  ['overrides that might exist', { overrides: true }],
  ['a revision', { revision: 7 }],
  [
    'plans, overrides, blocks and a revision',
    { plans: { pro: bucket(500) }, overrides: true, blocks: true, revision: 7 },
  ],
])('a decision with %s is one command', async (_, options) => {
  const limiter = await processOf(proxy.url, options);
  proxy.forget();
  for (let i = 0; i < 20; i++) await limiter.consume('s');
  expect(sentFor('s')).toEqual(times(20));
  await limiter.peek('s');
  expect(sentFor('s')).toEqual(times(1));
});

test('an override reaches another process with its next decision: two commands, then one each', async () => {
  const options = { plans: { pro: bucket(500) }, overrides: true };
  const [limiter, admin] = [await processOf(proxy.url, options), await processOf(server.url, options)];
  await limiter.consume('s');
  for (const size of [41, 42, 43]) {
    await admin.setOverride('s', { limits: [bucket(size)] }, '1h');
    proxy.forget();
    expect(sizeOf(await limiter.consume('s'))).toBe(size);
    expect(sentFor('s')).toEqual(times(2));
    for (let i = 0; i < 5; i++) expect(sizeOf(await limiter.consume('s'))).toBe(size);
    expect(sentFor('s')).toEqual(times(5));
  }
  await admin.setOverride('s', { plan: 'pro' }, '1h');
  expect([sizeOf(await limiter.peek('s')), sizeOf(await limiter.consume('s'))]).toEqual([500, 500]);
  expect(sentFor('s')).toEqual(times(3));
  await admin.removeOverride('s');
  expect([sizeOf(await limiter.consume('s')), sizeOf(await limiter.consume('s'))]).toEqual([100, 100]);
  expect(sentFor('s')).toEqual(times(3));
});

test('an override ends by itself: one decision takes two commands, and what was used stays used', async () => {
  const [limiter, admin] = [
    await processOf(proxy.url, { overrides: true }),
    await processOf(server.url, { overrides: true }),
  ];
  await admin.setOverride('s', { limits: [bucket(1000)] }, 500);
  expect((await limiter.consume('s', { cost: 40 })).limits).toMatchObject([{ limit: 1000, remaining: 960 }]);
  await until(async () => Number(await server.command('EXISTS', 'cmp1:{s}:api:terms')) === 0, { what: 'the end' });
  proxy.forget();
  expect((await limiter.consume('s')).limits).toMatchObject([{ limit: 100, remaining: 59 }]);
  expect(sentFor('s')).toEqual(times(2));
  await limiter.consume('s');
  expect(sentFor('s')).toEqual(times(1));
});

test('a newer revision costs an older process two commands once per subject', async () => {
  const old = await processOf(proxy.url, { revision: 1 });
  const next = await processOf(server.url, { revision: 2, limits: bucket(300) });
  await Promise.all(['a', 'b'].map((subject) => next.consume(subject)));
  proxy.forget();
  for (const subject of ['a', 'b']) {
    expect(sizeOf(await old.consume(subject))).toBe(300);
    expect(proxy.seen.filter(({ args }) => args.some((arg) => arg.includes(`{${subject}}`))).length).toBe(2);
    expect(sizeOf(await old.consume(subject))).toBe(300);
  }
  expect([sentFor('a').length, sizeOf(await old.consume('never-asked-by-the-newer'))]).toEqual([3, 100]);
});

test('more overridden subjects than are remembered get their own limits; the forgotten cost two commands', async () => {
  const [remembered, forgotten] = [10_000, 300];
  const all = Array.from({ length: remembered + forgotten }, (_, i) => `u${i}`);
  // More different ones than are kept read, too.
  const sizeFor = (index: number) => 1000 + (index % 317);
  const [limiter, admin] = [
    await processOf(server.url, { overrides: true }),
    await processOf(server.url, { overrides: true }),
  ];
  await inBatches(all, (subject, i) => admin.setOverride(subject, { limits: [bucket(sizeFor(i))] }, '1h'));
  const counted = async (subjects: readonly string[], first: number): Promise<number> => {
    const before = await callsOf([server], 'evalsha');
    const sizes = await inBatches(subjects, async (subject) => sizeOf(await limiter.consume(subject)));
    expect(sizes).toEqual(subjects.map((_, i) => sizeFor(first + i)));
    return (await callsOf([server], 'evalsha')) - before;
  };
  // What counts processes comes on top, every few seconds.
  const beats = 300;
  const first = await counted(all, 0);
  expect(first).toBeGreaterThanOrEqual(2 * all.length);
  expect(first).toBeLessThan(2 * all.length + beats);
  const again = await counted(all.slice(forgotten), forgotten);
  expect(again).toBeGreaterThanOrEqual(remembered);
  expect(again).toBeLessThan(remembered + beats);
  expect(await counted(all.slice(0, forgotten), 0)).toBeGreaterThanOrEqual(2 * forgotten);
});

async function inBatches<T>(
  subjects: readonly string[],
  act: (subject: string, index: number) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  for (let from = 0; from < subjects.length; from += 100) {
    const batch = subjects.slice(from, from + 100);
    results.push(...(await Promise.all(batch.map((subject, i) => act(subject, from + i)))));
  }
  return results;
}

test('in an outage a subject keeps the limits that were last known, and gets new ones when it is over', async () => {
  const options = { overrides: true, onStoreFailure: 'local', instances: 1 } as const;
  const [limiter, admin] = [await processOf(proxy.url, options), await processOf(server.url, { overrides: true })];
  await admin.setOverride('s', { limits: [bucket(7)] }, '1h');
  await admin.setOverride('unasked', { limits: [bucket(7)] }, '1h');
  expect((await limiter.consume('s', { cost: 3 })).limits).toMatchObject([{ limit: 7, remaining: 4 }]);
  await proxy.down();
  await until(async () => (await limiter.peek('s')).degraded?.mode === 'local', { what: 'the outage' });
  expect((await limiter.consume('s')).limits).toMatchObject([{ limit: 7, remaining: 3 }]);
  expect((await limiter.consume('unasked')).limits).toMatchObject([{ limit: 100, remaining: 99 }]);
  await admin.setOverride('s', { limits: [bucket(50)] }, '1h');
  expect((await limiter.consume('s')).limits).toMatchObject([{ limit: 7, remaining: 2 }]);
  await proxy.pass();
  await until(async () => (await limiter.peek('s')).degraded === undefined, { what: 'the end of the outage' });
  expect((await limiter.peek('s')).limits).toMatchObject([{ limit: 50 }]);
  expect((await limiter.peek('unasked')).limits).toMatchObject([{ limit: 7 }]);
  // What was admitted meanwhile is charged afterwards: 3 before and 2 during the outage.
  await until(async () => (await limiter.peek('s')).limits[0]?.remaining === 45, { what: 'the payment' });
});

test('the new terms are decided by inside the time limit that the call began with', async () => {
  const [limiter, admin] = [
    await processOf(proxy.url, { overrides: true, timeoutMs: 3000 }),
    await processOf(server.url, { overrides: true }),
  ];
  await limiter.consume('s');
  await admin.setOverride('s', { limits: [bucket(7)] }, '1h');
  // Each answer takes 2 s: the first says that the terms are others. A new time limit would let the second come.
  proxy.delay(1000);
  proxy.forget();
  const decision = await limiter.consume('s');
  expect([decision.degraded?.cause, decision.allowed]).toEqual(['timeout', false]);
  expect(sentFor('s')).toEqual(times(2));
});
