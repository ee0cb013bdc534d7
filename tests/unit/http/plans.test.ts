import { type ComportaError, fixedWindow, memoryStore, slidingWindow, tokenBucket } from 'comporta';
import { createGate, type GateOptions, type Policy, type Verdict } from 'comporta/http';
import { expect, test } from 'vitest';
import { view } from '../identity/view.js';
import { field, items } from './parse.js';
import { ManualClock } from './stores.js';

const free = fixedWindow({ limit: 1, window: '10s', align: 'first-hit' });
const pro = fixedWindow({ limit: 3, window: '1m', align: 'first-hit' });
const team = [tokenBucket({ capacity: 5, refill: 1, every: '1s' }), slidingWindow({ limit: 50, window: '1h' })];

/** A gate over policies that count by the header `x-key`; a clock that stands still. */
function setUp(policy: Partial<Policy>, options: Partial<GateOptions> = {}) {
  const errors: ComportaError[] = [];
  const clock = new ManualClock();
  const gate = createGate({
    store: memoryStore({ clock }),
    onError: (error) => errors.push(error),
    ...options,
    policies: [{ name: 'p', key: 'header:x-key', limits: free, ...policy }],
  });
  const check = async (headers: Record<string, string>): Promise<Verdict> =>
    gate.check(view({ headers: { 'x-key': 'a', ...headers } }));
  const limiter = gate.limiters.get('p');
  if (limiter === undefined) throw new Error('no limiter');
  return { gate, errors, check, limiter, clock };
}

const detail = (verdict: Verdict): string => JSON.parse(verdict.body).detail;
const plans = { pro, team };

test('the fields and the words of a refusal are those of the plan that decided', async () => {
  const { check } = setUp({ plans, plan: 'header:x-plan' });
  const own = await check({});
  expect(items(field(own, 'ratelimit-policy'))).toEqual({ p: { q: 1, w: 10 } });
  expect(detail(await check({}))).toBe('p allows 1 request per 10s. Try again in 10 seconds.');
  for (let i = 2; i >= 0; i--) {
    const verdict = await check({ 'x-key': 'b', 'x-plan': 'pro' });
    expect(items(field(verdict, 'ratelimit-policy'))).toEqual({ p: { q: 3, w: 60 } });
    expect(items(field(verdict, 'ratelimit'))).toMatchObject({ p: { r: i } });
  }
  const refused = await check({ 'x-key': 'b', 'x-plan': 'pro' });
  expect(detail(refused)).toBe('p allows 3 requests per minute. Try again in 60 seconds.');
  expect(JSON.parse(refused.body)['violated-policies']).toEqual(['p']);
});

test('a plan with more limits names each, in every form of the fields', async () => {
  const { check } = setUp({ plans, plan: 'header:x-plan' }, { headers: ['draft-11', 'draft-6', 'legacy'] });
  const verdict = await check({ 'x-plan': 'team' });
  expect(items(field(verdict, 'ratelimit-policy'))).toEqual({
    'p.tokenBucket': { q: 5, w: 5 },
    'p.slidingWindow': { q: 50, w: 3600 },
  });
  expect(Object.keys(items(field(verdict, 'ratelimit')))).toEqual(['p.tokenBucket', 'p.slidingWindow']);
  expect(field(verdict, 'ratelimit-limit')).toBe('5');
  expect(field(verdict, 'x-ratelimit-limit')).toBe('5');
});

test('use carries over when a subject changes its plan', async () => {
  const { check } = setUp({ plans: { pro }, plan: 'header:x-plan' });
  await check({});
  expect((await check({})).allowed).toBe(false);
  const verdict = await check({ 'x-plan': 'pro' });
  expect([verdict.allowed, items(field(verdict, 'ratelimit')).p?.r]).toEqual([true, 1]);
});

test('the final cost is settled by the limits of the plan that charged, also after a long response', async () => {
  const bucket = tokenBucket({ capacity: 10, refill: 10, every: '30d' });
  const large = tokenBucket({ capacity: 1000, refill: 1000, every: '30d' });
  for (const [finalCost, minutes] of [
    [30, 1],
    [30, 10],
    [90, 1],
    [90, 10],
  ] as const) {
    const policy = { limits: bucket, plans: { large }, plan: 'header:x-plan', cost: 60, count: () => finalCost };
    const { check, clock, limiter, errors } = setUp(policy);
    const verdict = await check({ 'x-plan': 'large' });
    clock.advance(minutes * 60_000);
    verdict.finish?.({ status: 200, aborted: false });
    // Settling takes a few turns of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    const now = await limiter.peek('header.x-key=a', { plan: 'large' });
    expect(now.limits[0]?.remaining, `${finalCost} after ${minutes} min`).toBe(1000 - finalCost);
    expect(errors).toEqual([]);
  }
});

test('unknown plans leave a request with the policy’s own limits, and are told once', async () => {
  const { check, errors } = setUp({ plans, plan: 'header:x-plan' });
  for (const name of ['gold', '__proto__', 'constructor', 'gold2']) {
    const verdict = await check({ 'x-key': name, 'x-plan': name });
    expect(items(field(verdict, 'ratelimit-policy'))).toEqual({ p: { q: 1, w: 10 } });
  }
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatchObject({ code: 'ERR_PLAN', field: 'policies[0].plan' });
  expect(errors[0]?.message).toContain('there is no plan "gold" among pro, team');
});

test('a table gives plans to the values of a source; others have none, and that is no fault', async () => {
  const { check, errors } = setUp({ plans, plan: { by: 'header:x-key', of: { acme: 'team', bob: 'pro' } } });
  const quotaOf = async (key: string) => field(await check({ 'x-key': key }), 'ratelimit-policy');
  expect(await quotaOf('acme')).toContain('p.tokenBucket');
  expect(await quotaOf('bob')).toBe('"p";q=3;w=60');
  for (const key of ['carol', '__proto__', 'toString']) expect(await quotaOf(key)).toBe('"p";q=1;w=10');
  expect(errors).toEqual([]);
});

test('a function names the plan; one that fails is reported once and the own limits apply', async () => {
  const named = setUp({ plans, plan: ({ url }) => (url === '/' ? 'pro' : undefined) });
  expect(field(await named.check({}), 'ratelimit-policy')).toBe('"p";q=3;w=60');
  const failing = setUp({
    plans,
    plan: () => {
      throw new Error('no data base');
    },
  });
  for (let i = 0; i < 3; i++) await failing.check({ 'x-key': `${i}` });
  expect(failing.errors.map(({ message }) => message)).toEqual([expect.stringContaining('no data base')]);
});

test('an override decides, and the fields say so', async () => {
  const { check, limiter } = setUp({ plans, plan: 'header:x-plan', overrides: true });
  await limiter.setOverride('header.x-key=a', { plan: 'pro' }, '1h');
  expect(field(await check({}), 'ratelimit-policy')).toBe('"p";q=3;w=60');
  await limiter.setOverride('header.x-key=a', { limits: [fixedWindow({ limit: 2, window: '30s' })] }, '1h');
  expect(field(await check({}), 'ratelimit-policy')).toBe('"p";q=2;w=30');
  const refused = await check({});
  expect(detail(refused)).toMatch(/^p allows this caller 2 requests within 30s\. Try again in \d+ seconds\.$/);
  expect(field(await check({ 'x-key': 'b' }), 'ratelimit-policy')).toBe('"p";q=1;w=10');
  await limiter.removeOverride('header.x-key=a');
  expect(field(await check({}), 'ratelimit-policy')).toBe('"p";q=1;w=10');
});

test('while an older process runs, the newest revision decides, and the fields of both say so', async () => {
  const store = memoryStore({ clock: new ManualClock() });
  const old = setUp({ revision: 1 }, { store });
  const young = setUp({ revision: 2, limits: pro }, { store });
  expect(field(await old.check({}), 'ratelimit-policy')).toBe('"p";q=1;w=10');
  expect(field(await young.check({}), 'ratelimit-policy')).toBe('"p";q=3;w=60');
  expect(field(await old.check({}), 'ratelimit-policy')).toBe('"p";q=3;w=60');
});

test('a blocked caller is told to wait, not why', async () => {
  const { check, limiter, clock } = setUp({ blocks: true });
  await limiter.block('header.x-key=a', '10m');
  const verdict = await check({});
  expect(verdict).toMatchObject({ allowed: false, status: 429 });
  expect(field(verdict, 'retry-after')).toBe('600');
  expect(field(verdict, 'cache-control')).toBe('no-store');
  expect(field(verdict, 'ratelimit'), 'nobody counted').toBeUndefined();
  expect(JSON.parse(verdict.body)).toEqual({
    type: 'about:blank',
    title: 'Too Many Requests',
    status: 429,
    detail: 'p refuses all requests of this caller for the time being. Try again in 10 minutes.',
  });
  clock.advance(599_999);
  expect(field(await check({}), 'retry-after')).toBe('1');
  clock.advance(1);
  expect((await check({})).allowed).toBe(true);
});

test('too many refusals block by themselves', async () => {
  const { check, clock } = setUp({ blocks: { after: 3, within: '1m', lasts: '1h' } });
  await check({});
  const reasonOf = async () => (await check({})).decisions[0]?.reason;
  expect([await reasonOf(), await reasonOf(), await reasonOf()]).toEqual([
    'limit-exceeded',
    'limit-exceeded',
    'blocked',
  ]);
  clock.advance(10_000);
  const verdict = await check({});
  expect([verdict.decisions[0]?.reason, field(verdict, 'retry-after')]).toEqual(['blocked', '3590']);
});

test('a block beside a used-up limit: the longer wait is told, the violated limit is named', async () => {
  const clock = new ManualClock();
  const gate = createGate({
    store: memoryStore({ clock }),
    policies: [
      { name: 'blocked', key: 'global', limits: free, blocks: true },
      { name: 'used', key: 'global', limits: free },
    ],
  });
  await gate.check(view());
  await gate.limiters.get('blocked')?.block('global', '10m');
  const verdict = await gate.check(view());
  expect(JSON.parse(verdict.body)).toMatchObject({
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    detail: 'blocked refuses all requests of this caller for the time being. Try again in 10 minutes.',
    'violated-policies': ['used'],
  });
});

test.each<[string, Partial<Policy>, string, string]>([
  ['plan without plans', { plan: 'header:x' }, 'ERR_POLICY', 'plan'],
  ['plans without plan', { plans }, 'ERR_POLICY', 'plan'],
  ['an unknown source', { plans, plan: 'body:x' }, 'ERR_KEY', 'plan'],
  ['no source', { plans, plan: 5 as never }, 'ERR_KEY', 'plan'],
  ['a parameter that no path has', { plans, plan: 'path:plan' }, 'ERR_KEY', 'plan'],
  ['a table of unknown plans', { plans, plan: { by: 'ip', of: { a: 'gold' } } }, 'ERR_POLICY', 'plan.of'],
  ['a table without values', { plans, plan: { by: 'ip' } as never }, 'ERR_POLICY', 'plan.of'],
  ['a table with more', { plans, plan: { by: 'ip', of: {}, to: 1 } as never }, 'ERR_POLICY', 'plan.to'],
  ['a plan without limits', { plans: { pro: [] }, plan: 'header:x' }, 'ERR_LIMIT', 'plans.pro'],
  ['a bad name', { plans: { 'a b': pro }, plan: 'header:x' }, 'ERR_POLICY', 'plans'],
  ['blocks that never come', { blocks: { after: 0, within: '1m', lasts: '1m' } }, 'ERR_OPTION', 'blocks.after'],
  ['blocks: false', { blocks: false as never }, 'ERR_OPTION', 'blocks'],
  ['overrides: 1', { overrides: 1 as never }, 'ERR_OPTION', 'overrides'],
  ['a hold of a day', { hold: '1d' }, 'ERR_OPTION', 'hold'],
  ['a negative revision', { revision: -1 }, 'ERR_OPTION', 'revision'],
  ['an unknown count', { count: 'some' as never }, 'ERR_POLICY', 'count'],
  ['a count of null', { count: null as never }, 'ERR_POLICY', 'count'],
])('%s is refused, naming the field', (_, policy, code, path) => {
  expect(() => setUp(policy)).toThrow(expect.objectContaining({ code, field: `policies[0].${path}` }));
});
