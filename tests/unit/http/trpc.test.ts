import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { initTRPC, TRPCError } from '@trpc/server';
import { fetchRequestHandler } from '@trpc/server/adapters/fetch';
import { type CreateHTTPContextOptions, createHTTPServer } from '@trpc/server/adapters/standalone';
import { concurrency, fixedWindow, memoryStore, tokenBucket } from 'comporta';
import { faultyStore } from 'comporta/testing';
import { RateLimitRefusal, rateLimit, type TrpcOptions } from 'comporta/trpc';
import { describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../../support/wait.js';
import { ManualClock } from './stores.js';

type Carried = { readonly [Name in keyof CreateHTTPContextOptions]?: CreateHTTPContextOptions[Name] | undefined };

interface Context extends Carried {
  readonly user: string;
  readonly resHeaders?: Headers | undefined;
}

const t = initTRPC.context<Context>().create({
  errorFormatter: ({ shape, error }) => {
    const { cause } = error;
    return { ...shape, retryAfterMs: cause instanceof RateLimitRefusal ? cause.retryAfterMs : undefined };
  },
});

const bucket = (capacity: number) => tokenBucket({ capacity, refill: 1, every: '8s' });

/** A router behind a limiter, with a door for tests. */
function routerOf(options: Partial<TrpcOptions<Context>>) {
  const store = memoryStore({ clock: new ManualClock() });
  const limiter = rateLimit<Context>(
    ('policies' in options
      ? { store, ...options }
      : { name: 'api', limits: bucket(2), store, ...options }) as TrpcOptions<Context>,
  );
  onTestFinished(() => limiter.close());
  const limited = t.procedure.use(limiter);
  return t.router({
    hello: limited.query(({ ctx }) => `hello ${ctx.user}`),
    add: limited.mutation(() => 'added'),
    missing: limited.query((): string => {
      throw new TRPCError({ code: 'NOT_FOUND' });
    }),
    parts: limited.query(async function* () {
      yield* [1, 2];
    }),
    breaks: limited.query(async function* () {
      yield 1;
      throw new TRPCError({ code: 'NOT_FOUND', message: 'gone' });
    }),
    waits: limited.query(async function* ({ signal }) {
      yield 1;
      if (signal !== undefined && !signal.aborted) await once(signal, 'abort');
    }),
    few: limited.subscription(async function* () {
      yield* [1, 2];
    }),
    ticks: limited.subscription(async function* ({ signal }) {
      yield 1;
      if (signal !== undefined && !signal.aborted) await once(signal, 'abort');
    }),
  });
}

/** A server of tRPC's own; resolves to what asks it. */
async function served(options: Partial<TrpcOptions<Context>>) {
  const createContext = ({ req, res, info }: CreateHTTPContextOptions): Context => {
    return { req, res, info, user: String(req.headers['x-user'] ?? 'nobody') };
  };
  const server = createHTTPServer({ router: routerOf(options), createContext });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${url}/${path}`, init);
    return { status: response.status, headers: response.headers, body: (await response.json()) as Answer };
  };
}

/** A call that changes something. */
const POST = { method: 'POST', headers: { 'content-type': 'application/json' } };

interface Answer {
  readonly result?: { readonly data: unknown };
  readonly error?: { readonly message: string; readonly code: number; readonly retryAfterMs?: number };
}

describe('over HTTP', () => {
  test('calls pass until the limit, then are refused with 429, the fields and the exact wait', async () => {
    const ask = await served({});
    const answers = [await ask('hello'), await ask('add', POST), await ask('hello')];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers.map(({ headers }) => headers.get('ratelimit'))).toEqual([
      '"api";r=1;t=8',
      '"api";r=0;t=8',
      '"api";r=0;t=8',
    ]);
    const { headers, body } = answers[2] ?? expect.unreachable();
    expect([headers.get('retry-after'), headers.get('content-type')]).toEqual(['8', 'application/json']);
    expect(body.error).toMatchObject({ code: -32029, retryAfterMs: 8000 });
    expect(body.error?.message).toBe('api allows 2 requests at once, refilled at 1 per 8s. Try again in 8 seconds.');
  });

  test('each call of a batch counts, and those within the limit are answered', async () => {
    const ask = await served({});
    const { status, body } = await ask('hello,hello,hello?batch=1&input={}');
    const list = body as unknown as readonly Answer[];
    expect([status, list.map(({ result }) => result?.data)]).toEqual([
      207,
      ['hello nobody', 'hello nobody', undefined],
    ]);
    expect(list[2]?.error?.retryAfterMs).toBe(8000);
  });

  test('policies meet procedures by their paths, as POST', async () => {
    const ask = await served({ match: { path: '/add', methods: ['POST'] }, limits: bucket(1) });
    const add = async () => (await ask('add', POST)).status;
    expect([await add(), await add(), (await ask('hello')).status]).toEqual([200, 429, 200]);
  });

  test('header sources read the request, and a key function gets the context', async () => {
    const byHeader = await served({ key: 'header:x-user', limits: bucket(1) });
    const byContext = await served({ key: ({ request }) => request.ctx.user, limits: bucket(1) });
    for (const ask of [byHeader, byContext]) {
      const as = async (user: string) => (await ask('hello', { headers: { 'x-user': user } })).status;
      expect([await as('a'), await as('a'), await as('b')]).toEqual([200, 429, 200]);
    }
  });

  test('in an outage closed refuses with 503', async () => {
    const store = faultyStore();
    store.down();
    const ask = await served({ store, onStoreFailure: 'closed' });
    const { status, headers, body } = await ask('hello');
    expect([status, headers.get('retry-after'), body.error?.retryAfterMs]).toEqual([503, '1', 1000]);
  });

  test('whom deny names is forbidden', async () => {
    const ask = await served({ deny: ['127.0.0.1'] });
    expect((await ask('hello')).status).toBe(403);
  });
});

describe('the end of a call', () => {
  test('is told by its own status, also in a batch', async () => {
    const statuses: number[] = [];
    const count = ({ status }: { readonly status: number }) => {
      statuses.push(status);
      return 1;
    };
    const ask = await served({ count, limits: bucket(9) });
    await ask('hello,missing?batch=1&input={}');
    expect(statuses.toSorted()).toEqual([200, 404]);
  });

  test('gives back successes where only failures count', async () => {
    const ask = await served({ count: 'failures', limits: bucket(2) });
    const all = [];
    for (const path of ['hello', 'missing', 'hello', 'missing', 'hello']) all.push((await ask(path)).status);
    expect(all).toEqual([200, 404, 200, 404, 429]);
  });

  test.each([
    ['before its first value', 0],
    ['after it', 1],
  ])('of a subscription is when its client leaves, %s: it holds its place until then', async (_, values) => {
    const outcomes: boolean[] = [];
    const key = () => 'a';
    const count = ({ aborted }: { readonly aborted: boolean }) => outcomes.push(aborted);
    const router = routerOf({
      limits: [concurrency({ limit: 1, lease: '1h' }), fixedWindow({ limit: 99, window: '1d' })],
      count,
      key,
    });
    const leave = new AbortController();
    const caller = router.createCaller({ user: 'a' }, { signal: leave.signal });
    const ticks = (await caller.ticks())[Symbol.asyncIterator]();
    for (let i = 0; i < values; i++) expect(await ticks.next()).toEqual({ value: 1, done: false });
    await expect(router.createCaller({ user: 'a' }).hello()).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' });
    leave.abort();
    await until(() => outcomes.length === 1, { what: 'the end of the subscription' });
    expect(outcomes).toEqual([true]);
    await until(async () => (await router.createCaller({ user: 'a' }).hello()) === 'hello a', { what: 'the place' });
  });
});

test.each([
  ['ends', false],
  ['is given up', true],
])('a subscription that %s is settled then, once', async (_, aborted) => {
  const outcomes: unknown[] = [];
  const count = (outcome: { readonly status: number; readonly aborted: boolean }) =>
    outcomes.push([outcome.status, outcome.aborted]);
  const values = (
    await routerOf({ key: () => 'a', count })
      .createCaller({ user: 'a' })
      .few()
  )[Symbol.asyncIterator]();
  await values.next();
  expect(outcomes).toEqual([]);
  if (aborted) await values.return?.();
  else expect([await values.next(), (await values.next()).done]).toEqual([{ value: 2, done: false }, true]);
  expect(outcomes).toEqual([[200, aborted]]);
});

describe('an answer that is sent in parts', () => {
  const places = { key: 'global', limits: concurrency({ limit: 1, lease: '1h' }) } as const;
  const isFree = async (router: ReturnType<typeof routerOf>): Promise<boolean> => {
    const caller = router.createCaller({ user: 'a' });
    return caller.hello().then(
      () => true,
      () => false,
    );
  };

  test.each(['parts', 'few'] as const)('holds its place until it has ended: %s', async (name) => {
    const router = routerOf(places);
    const caller = router.createCaller({ user: 'a' });
    const seen = [];
    for await (const value of await caller[name]()) {
      seen.push(value);
      expect(await isFree(router)).toBe(false);
    }
    expect([seen, await isFree(router)]).toEqual([[1, 2], true]);
  });

  test.each<[string, (values: AsyncIterator<unknown>) => Promise<unknown> | undefined]>([
    ['is given up before its first part', (values) => values.return?.()],
    ['is given up after it', (values) => values.next().then(() => values.return?.())],
    ['is broken off before its first part', (values) => values.throw?.(new Error('enough')).catch(() => undefined)],
  ])('frees its place when it %s', async (_, leave) => {
    for (const name of ['parts', 'few'] as const) {
      const router = routerOf(places);
      const values = (await router.createCaller({ user: 'a' })[name]())[Symbol.asyncIterator]();
      expect(await isFree(router)).toBe(false);
      await leave(values);
      expect(await isFree(router)).toBe(true);
    }
  });

  test('is a failure when it breaks, by the status of its error', async () => {
    const outcomes: unknown[] = [];
    const count = ({ status }: { readonly status: number }) => outcomes.push(status);
    const values = await routerOf({ key: 'global', count, limits: bucket(9) })
      .createCaller({ user: 'a' })
      .breaks();
    const read = async () => {
      for await (const _ of values) expect(outcomes).toEqual([]);
    };
    await expect(read()).rejects.toThrow('gone');
    expect(outcomes).toEqual([404]);
  });

  test.each([
    ['streams', 'parts?batch=1&input={}', { 'trpc-accept': 'application/jsonl' }, '[1,2]'],
    ['cannot be streamed', 'parts', {}, 'non-streaming'],
  ])('over HTTP leaves no place behind when it %s', async (_, path, headers, text) => {
    const router = routerOf(places);
    const req = new Request(`http://a/trpc/${path}`, { headers });
    const createContext = () => ({ req, user: 'a' }) as unknown as Context;
    const answer = await fetchRequestHandler({ endpoint: '/trpc', req, router, createContext });
    const body = await answer.text();
    if (text === 'non-streaming') expect(body).toContain(text);
    else expect([body.includes('1'), body.includes('2'), body.includes('TOO_MANY')]).toEqual([true, true, false]);
    expect(await isFree(router)).toBe(true);
  });

  test('over HTTP holds its place while it is being sent', async () => {
    const router = routerOf(places);
    const req = new Request('http://a/trpc/waits?batch=1&input={}', {
      headers: { 'trpc-accept': 'application/jsonl' },
    });
    const createContext = () => ({ req, user: 'a' }) as unknown as Context;
    const { body } = await fetchRequestHandler({ endpoint: '/trpc', req, router, createContext });
    const reader = (body ?? expect.unreachable()).getReader();
    let sent = '';
    while (!sent.includes('[[1]]')) sent += new TextDecoder().decode((await reader.read()).value);
    expect(await isFree(router)).toBe(false);
    await reader.cancel();
    await until(() => isFree(router), { what: 'the place of the client that left' });
  });
});

test('a limiter that a procedure uses twice counts its calls once, and says so', async () => {
  const errors: string[] = [];
  const limiter = rateLimit<Context>({
    limits: bucket(2),
    key: 'global',
    store: memoryStore({ clock: new ManualClock() }),
    onError: ({ message }) => void errors.push(message),
  });
  const base = t.procedure.use(limiter);
  const derived = base.use(({ next }) => next({ ctx: { more: 1 } })).use(limiter);
  const router = t.router({ base: base.query(() => 1), derived: derived.query(({ ctx }) => ctx.more) });
  const req = new Request('http://a/trpc/derived,base,derived?batch=1&input={}');
  const createContext = () => ({ req, user: 'a' }) as unknown as Context;
  const answer = await fetchRequestHandler({ endpoint: '/trpc', req, router, createContext });
  const list = (await answer.json()) as readonly Answer[];
  expect(list.map(({ result }) => result?.data)).toEqual([1, 1, undefined]);
  expect(errors.filter((message) => message.includes('counted once'))).toHaveLength(1);
});

test('the wait is that of policies that are enforced', async () => {
  const policies = [
    { name: 'enforced', key: 'global', limits: bucket(1) },
    { name: 'tried', key: 'global', limits: fixedWindow({ limit: 0, window: '1d' }), shadow: true },
  ];
  const caller = routerOf({ policies } as Partial<TrpcOptions<Context>>).createCaller({ user: 'a' });
  await caller.hello();
  await expect(caller.hello()).rejects.toMatchObject({ cause: { retryAfterMs: 8000 } });
});

test('behind a fetch adapter fields go into resHeaders, and clientAddress names the client', async () => {
  const router = routerOf({ clientAddress: 'cloudflare', limits: bucket(1) });
  const ask = (address: string) => {
    const req = new Request('http://a/trpc/hello', { headers: { 'cf-connecting-ip': address } });
    const createContext = ({ resHeaders }: { readonly resHeaders: Headers }) => {
      return { req, resHeaders, user: 'a' } as unknown as Context;
    };
    return fetchRequestHandler({ endpoint: '/trpc', req, router, createContext });
  };
  const answers = [await ask('1.1.1.1'), await ask('1.1.1.1'), await ask('2.2.2.2')];
  expect(answers.map(({ status }) => status)).toEqual([200, 429, 200]);
  expect(answers[1]?.headers.get('retry-after')).toBe('8');
});

test('without a request or a response there is nothing to read or to write, and calls count as anonymous', async () => {
  const errors: string[] = [];
  const caller = routerOf({ onError: ({ message }) => errors.push(message) }).createCaller({ user: 'a' });
  await caller.hello();
  await caller.hello();
  const refusal = await caller.hello().catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: 'TOO_MANY_REQUESTS', cause: { retryAfterMs: 8000, status: 429 } });
  expect(errors).toHaveLength(1);
});

test('wrong options are errors when the middleware is made', () => {
  expect(() => rateLimit({ limits: bucket(1), limit: 5 } as never)).toThrow('limit: unknown');
  expect(() => rateLimit({ limits: bucket(1), clientAddress: 'mars' as never })).toThrow('clientAddress');
});

test('the context is inferred for key and cost functions', () => {
  const middleware = rateLimit({
    limits: bucket(1),
    key: ({ request }) => request.path,
    cost: ({ request }) => (request.type === 'query' ? 1 : 2),
  });
  t.procedure.use(middleware);
  const inline = t.procedure.use(
    rateLimit({ limits: bucket(1), key: ({ request }) => request.ctx.user.toUpperCase() }),
  );
  // @ts-expect-error: the context has no such field.
  t.procedure.use(rateLimit({ limits: bucket(1), key: ({ request }) => request.ctx.tenant }));
  // What earlier middleware put into the context is there, and what it has goes on.
  const later = t.procedure
    .use(({ next }) => next({ ctx: { tenant: 'x' } }))
    .use(rateLimit({ limits: bucket(1), key: ({ request }) => request.ctx.tenant.length }))
    .query(({ ctx }) => ctx.tenant.length + ctx.user.length);
  expect([inline, later]).toHaveLength(2);
});
