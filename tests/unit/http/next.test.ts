import { concurrency, fixedWindow, type Limit, memoryStore, type Store } from 'comporta';
import { createGate, type RequestView } from 'comporta/http';
import { type ProxyRequest, rateLimitProxy, rememberPeers, withRateLimit } from 'comporta/next';
import { describe, expect, expectTypeOf, test, vi } from 'vitest';
import { send, serve, webListener } from './serve.js';

const limits = fixedWindow({ limit: 2, window: '1d', align: 'first-hit' });
const four = fixedWindow({ limit: 4, window: '1d', align: 'first-hit' });
const clientAddress = () => '203.0.113.9';

/** A request as proxies get it. */
const proxied = (path = '/', init: RequestInit = {}): ProxyRequest => {
  const request = new Request(`http://127.0.0.1${path}`, init);
  const cookies = { get: () => undefined, has: () => false };
  return Object.assign(request, { nextUrl: new URL(request.url), cookies });
};

/** What a store holds for the only client of a test. */
async function usedIn(store: Store): Promise<number> {
  const gate = createGate({ store, policies: [{ name: 'p', limits }] });
  const decision = await gate.limiters.get('p')?.peek('ip=203.0.113.9');
  return 2 - (decision?.limits[0]?.remaining ?? Number.NaN);
}

describe('a proxy', () => {
  test('lets requests go on as NextResponse.next() does, then refuses as every other door', async () => {
    const proxy = rateLimitProxy({ limits, clientAddress });
    for (const left of [1, 0]) {
      const { status, headers, body } = await proxy(proxied(), undefined);
      expect([status, body, headers.get('x-middleware-next')]).toEqual([200, null, '1']);
      expect(headers.get('ratelimit')).toBe(`"default";r=${left};t=86400`);
    }
    const refused = await proxy(proxied(), undefined);
    const other = withRateLimit(() => new Response(), { limits, clientAddress });
    for (let i = 0; i < 2; i++) await other(new Request('http://127.0.0.1/'));
    const expected = await other(new Request('http://127.0.0.1/'));
    expect([...refused.headers]).toEqual([...expected.headers]);
    expect([refused.status, await refused.text()]).toEqual([429, await expected.text()]);
  });

  test('adds its fields to what the proxy it wraps answers, also to answers that cannot be changed', async () => {
    const own = new Response(null, { headers: { 'x-middleware-rewrite': '/b', ratelimit: '"own";r=1;t=1' } });
    const answers = [own, Response.redirect('http://127.0.0.1/c'), undefined, null];
    const seen: unknown[] = [];
    const proxy = rateLimitProxy({ limits: four, clientAddress }, (request: ProxyRequest, event) => {
      seen.push(request.nextUrl.pathname, event);
      return answers.shift();
    });
    const rewritten = await proxy(proxied('/a'), 'event');
    expect(rewritten?.headers.get('x-middleware-rewrite')).toBe('/b');
    expect(rewritten?.headers.get('ratelimit')).toMatch(/^"own";r=1;t=1, "default";r=\d;t=86400$/);
    const redirect = await proxy(proxied(), 'event');
    expect([redirect.status, redirect.headers.get('location')]).toEqual([302, 'http://127.0.0.1/c']);
    expect(redirect.headers.has('ratelimit')).toBe(true);
    expect((await proxy(proxied(), 'event')).headers.get('x-middleware-next')).toBe('1');
    expect((await proxy(proxied(), 'event')).headers.get('x-middleware-next')).toBe('1');
    expect(seen.slice(0, 2)).toEqual(['/a', 'event']);
  });

  test('keeps the instance awake while a refusal gives back what other policies charged', async () => {
    const store = memoryStore();
    const one = fixedWindow({ limit: 1, window: '1d', align: 'first-hit' });
    const policies = [
      { name: 'p', limits },
      { name: 'strict', limits: one },
    ];
    const proxy = rateLimitProxy({ store, policies, clientAddress });
    const work: Promise<unknown>[] = [];
    const event = { waitUntil: (promise: Promise<unknown>) => void work.push(promise) };
    expect((await proxy(proxied(), event)).status).toBe(200);
    expect(work).toEqual([]);
    expect((await proxy(proxied(), event)).status).toBe(429);
    expect(work).toHaveLength(1);
    await Promise.all(work);
    expect(await usedIn(store)).toBe(1);
  });

  const places: Limit = concurrency({ limit: 1 });
  test.each<[string, string, object]>([
    ['count', 'only "all" can be counted', { limits, count: 'failures' }],
    ['count', 'only "all" can be counted', { limits, count: () => 1 }],
    ['limits', 'places of a concurrency limit cannot be freed', { limits: [limits, places] }],
    ['limits', 'places of a concurrency limit cannot be freed', { limits, plans: { pro: places }, plan: 'header:a' }],
    [
      'policies[1].count',
      'only "all"',
      {
        policies: [
          { name: 'a', limits },
          { name: 'b', limits, count: 'successes' },
        ],
      },
    ],
  ])('refuses %s when made: %s', (field, words, options) => {
    const make = () => rateLimitProxy(options as { limits: Limit });
    expect(make).toThrow(expect.objectContaining({ code: 'ERR_OPTION', field }));
    expect(make).toThrow(words);
    expect(make).toThrow('wrap the route handler with withRateLimit instead');
  });

  test('takes count all, and names what is wrong with other options', () => {
    expect(() => rateLimitProxy({ limits, count: 'all' })).not.toThrow();
    for (const options of [{}, { policies: [null] }, { policies: 'a' }, { limits: null }, { limit: 1, limits }]) {
      expect(() => rateLimitProxy(options as never)).toThrow(expect.objectContaining({ name: 'ComportaError' }));
    }
    expect(() => rateLimitProxy({ limits, clientAddress: 'heroku' as never })).toThrow('clientAddress: expected');
  });
});

describe('a route handler', () => {
  test.each([
    ['redirect()', 'NEXT_REDIRECT;replace;/a;b;307;', 0],
    ['notFound()', 'NEXT_HTTP_ERROR_FALLBACK;404', 1],
    ['a fault', '1234567', 1],
  ])('that ends with %s is counted as what Next answers then', async (_, digest, used) => {
    const store = memoryStore();
    const fault = Object.assign(new Error('thrown'), { digest });
    const thrower = (): Promise<Response> => Promise.reject(fault);
    const handler = withRateLimit(thrower, { name: 'p', limits, store, count: 'failures', clientAddress });
    await expect(handler(new Request('http://127.0.0.1/'))).rejects.toBe(fault);
    expect(await usedIn(store)).toBe(used);
  });

  test('knows its peers by the connection of the request that is being answered', async () => {
    rememberPeers();
    rememberPeers();
    const peers: (string | undefined)[] = [];
    const handle = withRateLimit(() => new Response('hello'), {
      limits,
      key: ({ peerAddress }) => {
        peers.push(peerAddress);
        return peerAddress;
      },
    });
    const port = await serve(webListener((request) => handle(request)));
    const headers = { 'x-forwarded-for': '203.0.113.1' };
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await send(port, '/', { headers })).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect(peers).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1']);
  });

  test('does nothing where Node is only imitated, and throws at what it lacks', () => {
    const imitation = new Proxy({}, { get: () => expect.fail('not supported in the Edge Runtime') });
    vi.stubGlobal('process', imitation);
    try {
      expect(rememberPeers).not.toThrow();
      vi.stubGlobal('process', undefined);
      expect(rememberPeers).not.toThrow();
    } finally {
      vi.unstubAllGlobals();
    }
  });

  test('keeps its type, which is that of the functions in its options', () => {
    const handler = async (_: ProxyRequest, { params }: { params: Promise<{ id: string }> }) =>
      Response.json(await params);
    const limited = withRateLimit(handler, {
      limits,
      key: ({ request }) => {
        expectTypeOf(request).toEqualTypeOf<ProxyRequest>();
        return request.nextUrl.pathname;
      },
    });
    expectTypeOf(limited).toBeCallableWith(proxied(), { params: Promise.resolve({ id: 'a' }) });
    rateLimitProxy({ limits, key: ({ request }) => request.cookies.get('session')?.value });
    rateLimitProxy({
      limits,
      key: (view: RequestView<ProxyRequest & { geo: string }>) => view.request.geo,
    });
    expect(limited.gate.limiters.size).toBe(1);
  });
});
