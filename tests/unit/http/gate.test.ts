import {
  type ComportaError,
  fixedWindow,
  memoryStore,
  quota,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
} from 'comporta';
import { ANONYMOUS, createGate, type GateOptions, type Policy, type Verdict } from 'comporta/http';
import { expect, test } from 'vitest';
import { view } from '../identity/view.js';
import { field, items } from './parse.js';
import { brokenStore, lateStore, ManualClock } from './stores.js';

const limits = slidingWindow({ limit: 2, window: '10s' });

/** A gate on a clock that the test moves, answering at once. */
function setUp(policies: readonly Policy[], options: Partial<GateOptions> = {}) {
  const clock = new ManualClock();
  const errors: ComportaError[] = [];
  const gate = createGate({
    store: memoryStore({ clock }),
    onError: (error) => errors.push(error),
    ...options,
    policies,
  });
  const check = (parts: Parameters<typeof view>[0] = {}, cost?: number): Verdict => {
    const verdict = gate.check(view(parts), undefined, cost);
    if (verdict instanceof Promise) throw new TypeError('expected an answer at once');
    return verdict;
  };
  return { clock, errors, gate, check };
}

const problem = (verdict: Verdict) => JSON.parse(verdict.body) as Record<string, unknown>;

test('a refusal is a problem that people and programs understand, and is never cached', () => {
  const { check } = setUp([{ name: 'per-client', limits: tokenBucket({ capacity: 10, refill: 10, every: '1s' }) }]);
  for (let i = 0; i < 10; i++) expect(check()).toMatchObject({ allowed: true, status: 0, body: '' });
  const verdict = check();
  expect(verdict).toMatchObject({ allowed: false, status: 429 });
  expect(Object.fromEntries(verdict.headers)).toEqual({
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'retry-after': '1',
    'ratelimit-policy': '"per-client";q=10;w=1',
    ratelimit: '"per-client";r=0;t=1',
  });
  expect(problem(verdict)).toEqual({
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Quota exceeded',
    status: 429,
    detail: 'per-client allows 10 requests at once, refilled at 10 per second. Try again in 1 second.',
    'violated-policies': ['per-client'],
  });
});

test('denied 55 seconds into a minute, a client waits 5 seconds, and the body says the same', () => {
  const { clock, check } = setUp([{ name: 'p', limits: fixedWindow({ limit: 5, window: '1m', align: 'first-hit' }) }]);
  for (let i = 0; i < 5; i++) check();
  clock.advance(55_000);
  const verdict = check();
  expect(field(verdict, 'retry-after')).toBe('5');
  expect(problem(verdict).detail).toBe('p allows 5 requests per minute. Try again in 5 seconds.');
  clock.advance(4999);
  expect(field(check(), 'retry-after')).toBe('1');
  clock.advance(1);
  expect(check().allowed).toBe(true);
});

test('of two exhausted limits the one with the longer wait is named, and waiting for it helps', () => {
  const hourly = fixedWindow({ id: 'hourly', limit: 10, window: '1h' });
  const daily = fixedWindow({ id: 'daily', limit: 20, window: '1d' });
  const { clock, check } = setUp([{ name: 'api', limits: [hourly, daily] }]);
  for (let i = 0; i < 10; i++) check();
  expect(problem(check())).toMatchObject({
    detail: 'api allows 10 requests per hour. Try again in 1 hour.',
    'violated-policies': ['api.hourly'],
  });
  clock.advance(3_600_000);
  for (let i = 0; i < 10; i++) check();
  const verdict = check();
  expect(field(verdict, 'retry-after')).toBe(`${23 * 3600}`);
  expect(problem(verdict)).toMatchObject({
    detail: 'api allows 20 requests per day. Try again in 23 hours.',
    'violated-policies': ['api.hourly', 'api.daily'],
  });
  expect(items(field(verdict, 'ratelimit'))).toEqual({
    'api.hourly': { r: 0, t: 3600 },
    'api.daily': { r: 0, t: 82_800 },
  });
  clock.advance(23 * 3_600_000);
  expect(check().allowed).toBe(true);
});

test('of two policies that refuse, the one with the longer wait is explained, whatever their order', () => {
  const quick: Policy = { name: 'quick', limits: slidingWindow({ limit: 1, window: '2s' }) };
  const slow: Policy = { name: 'slow', limits: slidingWindow({ limit: 1, window: '1m' }) };
  for (const policies of [
    [quick, slow],
    [slow, quick],
  ]) {
    const { check } = setUp(policies);
    check();
    const verdict = check();
    expect(field(verdict, 'retry-after')).toBe('60');
    expect(problem(verdict)).toMatchObject({
      detail: 'slow allows 1 request in any minute. Try again in 60 seconds.',
      'violated-policies': policies.map(({ name }) => name),
    });
  }
});

test('a long wait is told in words of two units, rounded up', () => {
  const waits = [
    ['2m', '120 seconds'],
    ['121s', '2 minutes 1 second'],
    ['7199s', '2 hours'],
    ['90061s', '1 day 2 hours'],
  ];
  for (const [window = '', words] of waits) {
    const { check } = setUp([{ name: 'p', limits: slidingWindow({ limit: 1, window }) }]);
    check();
    expect(problem(check()).detail).toMatch(new RegExp(`Try again in ${words}\\.$`));
  }
});

test('the numbers of a bucket are those of the worked example', () => {
  const { clock, check } = setUp([{ name: 'burst', limits: tokenBucket({ capacity: 20, refill: 2, every: '1s' }) }]);
  check({}, 17);
  clock.advance(200);
  const refused = check({}, 5);
  expect(field(refused, 'ratelimit-policy')).toBe('"burst";q=20;w=10');
  expect(field(refused, 'ratelimit')).toBe('"burst";r=3;t=1');
  expect(field(refused, 'retry-after')).toBe('1');
  expect(problem(refused).detail).toContain('This request costs 5. Try again in 1 second.');
});

test('the numbers of a log are those of the worked example', () => {
  const { clock, check } = setUp([{ name: 'per-key', limits: slidingWindow({ limit: 5, window: '10s' }) }]);
  for (const pauseMs of [2700, 3400, 1800, 900, 300]) {
    check();
    clock.advance(pauseMs);
  }
  const refused = check();
  expect(field(refused, 'ratelimit')).toBe('"per-key";r=0;t=1');
  expect(field(refused, 'retry-after')).toBe('1');
  expect(field(check({}, 2), 'retry-after')).toBe('4');
});

test('a cost that never fits is refused without a time to come back', () => {
  const { check } = setUp([{ name: 'p', limits }]);
  const verdict = check({}, 3);
  expect(verdict.status).toBe(429);
  expect(field(verdict, 'retry-after')).toBeUndefined();
  expect(problem(verdict).detail).toBe(
    'p allows 2 requests in any 10s. This request costs 3 and can never be admitted.',
  );
  expect(field(verdict, 'ratelimit')).toBe('"p";r=2;t=10');
});

test.each([
  [tokenBucket({ capacity: 2, refill: 1, every: 1500 }), 'allows 2 requests at once, refilled at 1 per 1500ms.'],
  [tokenBucket({ capacity: 2, refill: 1, every: '60s' }), 'allows 2 requests at once, refilled at 1 per minute.'],
  [fixedWindow({ limit: 2, window: '7d' }), 'allows 2 requests per week.'],
  [slidingWindowCounter({ limit: 2, window: '1s' }), 'allows 2 requests in any second.'],
  [quota({ limit: 2, every: '1 week', from: '2026-01-01' }), 'allows 2 requests per week.'],
  [quota({ limit: 2, per: 'month' }), 'allows 2 requests per month.'],
])('a period of one unit is told by its name, any other by its length', (of, words) => {
  const { check } = setUp([{ name: 'p', limits: of }]);
  expect(problem(check({}, 3)).detail).toMatch(`p ${words}`);
});

test('several policies: all apply, one refusal charges none of them, and the list carries all', () => {
  const wide: Policy = { name: 'wide', key: 'global', limits: slidingWindow({ limit: 3, window: '10s' }) };
  const { check } = setUp([wide, { name: 'tight', limits }]);
  for (let i = 0; i < 2; i++) expect(check().allowed).toBe(true);
  for (let i = 0; i < 5; i++) {
    const verdict = check();
    expect(problem(verdict)['violated-policies']).toEqual(['tight']);
    expect(Object.keys(items(field(verdict, 'ratelimit')))).toEqual(['wide', 'tight']);
    expect(verdict.decisions.map(({ policy }) => policy)).toEqual(['wide', 'tight']);
  }
  expect(check({ peer: '198.51.100.1' }).allowed).toBe(true);
  expect(problem(check({ peer: '198.51.100.2' }))['violated-policies']).toEqual(['wide']);
});

test('a shadow policy is decided and reported, never enforced, and clients do not see it', () => {
  const shadow: Policy = { name: 'new', limits: slidingWindow({ limit: 1, window: '10s' }), shadow: true };
  for (const policies of [
    [shadow, { name: 'old', limits }],
    [{ name: 'old', limits }, shadow],
  ]) {
    const { check } = setUp(policies);
    const verdicts = [check(), check(), check()];
    expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    const shadows = verdicts.map(({ decisions }) => decisions.find(({ policy }) => policy === 'new')?.allowed);
    expect(shadows).toEqual([true, false, false]);
    for (const verdict of verdicts) expect(Object.keys(items(field(verdict, 'ratelimit')))).toEqual(['old']);
    expect(verdicts[0]?.decisions.map(({ policy }) => policy)).toEqual(policies.map(({ name }) => name));
  }
});

test('a shadow policy on its own refuses nobody and writes nothing', () => {
  const { check } = setUp([{ name: 'new', limits: slidingWindow({ limit: 0, window: '10s' }), shadow: true }]);
  expect(check()).toMatchObject({ allowed: true, headers: [], decisions: [{ allowed: false }] });
});

test('a request that others refuse costs a shadow policy nothing', () => {
  const shadow: Policy = { name: 'new', limits: slidingWindow({ limit: 5, window: '1h' }), shadow: true };
  const { clock, check } = setUp([{ name: 'old', limits }, shadow]);
  for (let i = 0; i < 9; i++) check();
  clock.advance(10_000);
  expect(check().decisions[1]?.binding?.remaining).toBe(2);
});

test('preflight requests are not counted unless asked for; other OPTIONS requests are', () => {
  const preflight = { method: 'OPTIONS', headers: { origin: 'https://a', 'access-control-request-method': 'PUT' } };
  const { check } = setUp([{ name: 'p', limits }]);
  for (let i = 0; i < 9; i++)
    expect(check(preflight)).toMatchObject({ allowed: true, headers: [], decisions: [], shadowed: [], deniedBy: [] });
  check({ method: 'OPTIONS' });
  check({ method: 'OPTIONS', headers: { origin: 'https://a' } });
  expect(check().allowed).toBe(false);
  const counting = setUp([{ name: 'p', limits }], { countPreflight: true });
  expect([1, 2, 3].map(() => counting.check(preflight).allowed)).toEqual([true, true, false]);
});

test('a request that no policy matches passes with nothing written', () => {
  const { check } = setUp([{ name: 'p', limits, match: { path: '/api/*' } }]);
  expect(check({ url: '/' })).toEqual({
    allowed: true,
    status: 0,
    headers: [],
    body: '',
    decisions: [],
    shadowed: [],
    deniedBy: [],
  });
});

test('eight spellings of a path share one count', () => {
  const { check } = setUp([
    { name: 'p', limits: slidingWindow({ limit: 7, window: '10s' }), match: { path: '/a/:id' }, key: 'path:id' },
  ]);
  const urls = ['/a//b', '/A/b', '/a/b/', '/a/%62', '/a/./b', '/a/x/../b', '/a/b;v=1', '/a/b?y=1&x=2'];
  expect(urls.map((url) => check({ url }).allowed)).toEqual([true, true, true, true, true, true, true, false]);
});

test('forged addresses on the left of the forwarding header share one count', () => {
  const { check } = setUp([{ name: 'p', limits }], { trustedProxies: ['10.0.0.0/8'] });
  const from = (value: string) => check({ peer: '10.0.0.1', headers: { 'x-forwarded-for': value } });
  expect(
    [from('1.1.1.1, 7.7.7.7'), from('2.2.2.2, 7.7.7.7:51234'), from('x, 7.7.7.7')].map(({ allowed }) => allowed),
  ).toEqual([true, true, false]);
});

test('requests without an identity share the anonymous count, which no header can fill', () => {
  const { check, errors } = setUp([{ name: 'p', limits, key: 'header:x-user' }]);
  const verdicts = [check(), check({ headers: { 'x-user': '' } }), check()];
  expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, true, false]);
  expect(verdicts.map(({ decisions }) => decisions[0]?.subject)).toEqual([ANONYMOUS, ANONYMOUS, ANONYMOUS]);
  expect(check({ headers: { 'x-user': ANONYMOUS } }).allowed).toBe(true);
  expect(errors).toEqual([]);
});

test('all header forms survive a request without any address, and the set-up is reported once', () => {
  for (const headers of ['draft-11', 'draft-7', ['draft-6', 'legacy']] as const) {
    const { check, errors } = setUp([{ name: 'p', limits }], { headers });
    const verdicts = [1, 2, 3].map(() => check({ peer: undefined }));
    expect(verdicts.map(({ status }) => status)).toEqual([0, 0, 429]);
    expect(errors.map(({ code }) => code)).toEqual(['ERR_KEY']);
  }
});

test('faulty key and cost functions are reported and never refuse or break a request', () => {
  const fail = () => {
    throw new Error('faulty');
  };
  const { check, errors } = setUp([{ name: 'p', limits, key: fail, cost: fail }]);
  expect(check()).toMatchObject({ allowed: true, decisions: [{ subject: ANONYMOUS, cost: 1 }] });
  expect(errors.map(({ code, field: at }) => [code, at])).toEqual([
    ['ERR_KEY', 'policies[0].key'],
    ['ERR_COST', 'policies[0].cost'],
  ]);
});

test('a listener that throws changes nothing', () => {
  const fail = () => {
    throw new Error('faulty');
  };
  const gate = createGate({ policies: [{ name: 'p', limits, key: fail }], onError: fail, onVerdict: fail });
  expect(gate.check(view())).toMatchObject({ allowed: true });
});

test('every verdict is told, refusals and preflight included', () => {
  const told: Verdict[] = [];
  const { check } = setUp([{ name: 'p', limits }], { onVerdict: (verdict) => told.push(verdict) });
  const given = [
    check(),
    check(),
    check(),
    check({ method: 'OPTIONS', headers: { origin: 'a', 'access-control-request-method': 'b' } }),
  ];
  expect(told).toEqual(given);
});

test('a store that answers later gives the same verdicts, later', async () => {
  const policies: readonly Policy[] = [
    { name: 'a', limits, key: 'global' },
    { name: 'b', limits, shadow: true },
  ];
  const clock = new ManualClock();
  const late = createGate({ policies, store: lateStore(clock) });
  const { check } = setUp(policies);
  for (let i = 0; i < 4; i++) {
    const answer = late.check(view());
    expect(answer).toBeInstanceOf(Promise);
    const { allowed, status, headers, body } = check();
    expect(await answer).toMatchObject({ allowed, status, headers, body });
  }
});

test('closed during an outage means 503 with no policy violated and no quota advertised', async () => {
  const gate = createGate({ policies: [{ name: 'p', limits }], store: brokenStore(), onStoreFailure: 'closed' });
  const verdict = await gate.check(view());
  expect(verdict.status).toBe(503);
  expect(Object.fromEntries(verdict.headers)).toEqual({
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'retry-after': '1',
    'ratelimit-policy': '"p";q=2;w=10',
  });
  expect(problem(verdict)).toMatchObject({
    type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
    status: 503,
    'violated-policies': [],
  });
  expect(verdict.body).not.toContain('10.9.8.7');
});

test('open during an outage passes and advertises no quota; local counts on and says what is left', async () => {
  const open = createGate({ policies: [{ name: 'p', limits, onStoreFailure: 'open' }], store: brokenStore() });
  const verdict = await open.check(view());
  expect(verdict).toMatchObject({ allowed: true, headers: [['ratelimit-policy', '"p";q=2;w=10']] });
  const local = createGate({ policies: [{ name: 'p', limits }], store: brokenStore() });
  expect(items(field(await local.check(view()), 'ratelimit')).p?.r).toBe(1);
  await local.check(view());
  expect(await local.check(view())).toMatchObject({ allowed: false, status: 429 });
});

test('a broken limit beside an outage is a denial, since waiting a second would not help', async () => {
  const policies: readonly Policy[] = [
    { name: 'down', limits, onStoreFailure: 'closed' },
    { name: 'zero', limits: slidingWindow({ limit: 0, window: '10s' }), onStoreFailure: 'local' },
  ];
  const verdict = await createGate({ policies, store: brokenStore() }).check(view());
  expect(verdict.status).toBe(429);
  expect(problem(verdict)['violated-policies']).toEqual(['zero']);
});

test('after close a gate answers as its failure mode says, and reports it', async () => {
  for (const [onStoreFailure, status] of [
    ['open', 0],
    ['local', 0],
    ['closed', 503],
  ] as const) {
    const { check, gate, errors } = setUp([{ name: 'p', limits }], { onStoreFailure });
    await gate.close();
    expect(check().status).toBe(status);
    expect(errors.map(({ code }) => code)).toEqual(['ERR_CLOSED']);
  }
});

test('a request that cannot be read at all is still answered', () => {
  const { gate, errors } = setUp([{ name: 'p', limits, match: { path: '/a' } }]);
  const broken = Object.defineProperty(view(), 'url', {
    get: () => {
      throw new Error('gone');
    },
  });
  expect(gate.check(broken)).toMatchObject({ allowed: true });
  expect(errors[0]?.message).toContain('gone');
});

test('a store that answers nonsense does not break the request', async () => {
  const bind = () => ({
    ...lateStore(new ManualClock()).bind({ policy: 'p', limits: [] }),
    consume: async () => undefined as never,
  });
  const errors: ComportaError[] = [];
  const store = { ...lateStore(new ManualClock()), bind };
  const gate = createGate({ policies: [{ name: 'p', limits }], store, onError: (error) => errors.push(error) });
  expect(await gate.check(view())).toMatchObject({ allowed: true });
  expect(errors).toHaveLength(1);
});

test('limiters are found by the name of their policy', async () => {
  const { gate, check } = setUp([{ name: 'p', limits }]);
  check();
  check();
  await gate.limiters.get('p')?.reset('ip=203.0.113.9');
  expect(check().allowed).toBe(true);
});

const policy: Policy = { name: 'p', limits };

test.each([
  ['a store that is none', { policies: [policy], store: {} }, 'ERR_OPTION', 'store'],
  ['no time', { policies: [policy], timeoutMs: 0 }, 'ERR_OPTION', 'timeoutMs'],
  ['no time for a policy', { policies: [{ ...policy, timeoutMs: 0 }] }, 'ERR_OPTION', 'policies[0].timeoutMs'],
  [
    'a mode',
    { policies: [policy, { ...policy, name: 'q', onStoreFailure: 'x' }] },
    'ERR_OPTION',
    'policies[1].onStoreFailure',
  ],
  ['no limits', { policies: [{ ...policy, limits: [] }] }, 'ERR_LIMIT', 'policies[0].limits'],
  ['a form', { policies: [policy], headers: 'draft-8' }, 'ERR_OPTION', 'headers'],
  ['a short prefix', { policies: [policy], ipv6Prefix: 8 }, 'ERR_OPTION', 'ipv6Prefix'],
  ['a hop count', { policies: [policy], trustedProxies: 1 }, 'ERR_PROXIES', 'trustedProxies'],
  ['an unknown option', { policies: [policy], trustProxy: ['10.0.0.0/8'] }, 'ERR_OPTION', 'trustProxy'],
  ['a text for a switch', { policies: [policy], countPreflight: 'no' }, 'ERR_OPTION', 'countPreflight'],
  ['no function', { policies: [policy], onVerdict: true }, 'ERR_OPTION', 'onVerdict'],
  ['an empty list', { policies: [] }, 'ERR_POLICY', 'policies'],
  ['no policies', {}, 'ERR_POLICY', 'policies'],
  ['nothing', undefined, 'ERR_OPTION', 'options'],
])('options with %s are refused at creation', (_, options, code, at) => {
  expect(() => createGate(options as unknown as GateOptions)).toThrow(expect.objectContaining({ code, field: at }));
});

test('two policies whose fields would carry one name are refused', () => {
  const two = [slidingWindow({ id: 'b', limit: 1, window: 1 }), slidingWindow({ id: 'c', limit: 1, window: 1 })];
  const policies = [
    { name: 'a', limits: two },
    { name: 'a.c', limits },
  ];
  expect(() => createGate({ policies })).toThrow(
    expect.objectContaining({ code: 'ERR_POLICY', field: 'policies[1].name' }),
  );
});

test('a refusal by one policy shows the others as they are once their charge is given back', () => {
  const wide = slidingWindow({ limit: 100, window: '10s' });
  const { check } = setUp([
    { name: 'wide', limits: wide, cost: 5 },
    { name: 'narrow', limits },
  ]);
  const left = (): unknown => items(field(check(), 'ratelimit')).wide?.r;
  expect([left(), left(), left(), left()]).toEqual([95, 90, 90, 90]);
});
