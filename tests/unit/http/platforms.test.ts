import { fixedWindow, memoryStore } from 'comporta';
import { type FetchOptions, withRateLimit } from 'comporta/fetch';
import { keepAliveOf, type Platform, type Verdict } from 'comporta/http';
import { afterEach, describe, expect, test } from 'vitest';
import { slowRefunds } from './slow-refunds.js';

const limits = fixedWindow({ limit: 9, window: '1d' });
const VERCEL = Symbol.for('@vercel/request-context');

/** The subject that a request counts for. */
async function subjectOf(
  headers: Record<string, string>,
  clientAddress: FetchOptions<[]>['clientAddress'],
): Promise<string | undefined> {
  let subject: string | undefined;
  const onVerdict = ({ decisions }: Verdict) => {
    subject = decisions[0]?.subject;
  };
  const options = { limits, onVerdict, onError: () => undefined };
  const handler =
    clientAddress === undefined
      ? withRateLimit(() => new Response('x'), options)
      : withRateLimit(() => new Response('x'), { ...options, clientAddress });
  await handler(new Request('http://a.example/', { headers }));
  return subject;
}

const FIELDS: readonly (readonly [Platform, string])[] = [
  ['azure-front-door', 'x-azure-socketip'],
  ['cloudflare', 'cf-connecting-ip'],
  ['fly', 'fly-client-ip'],
  ['netlify', 'x-nf-client-connection-ip'],
  ['vercel', 'x-real-ip'],
];

describe.each(FIELDS)('on %s', (platform, field) => {
  test('the client is the one that the platform names, and no other field is believed', async () => {
    const claimed = { 'x-forwarded-for': '1.1.1.1', forwarded: 'for=1.1.1.1' };
    expect(await subjectOf({ ...claimed, [field]: '203.0.113.9' }, platform)).toBe('ip=203.0.113.9');
    expect(await subjectOf(claimed, platform)).toBe('anonymous');
  });

  test('its field is not believed where nobody says that this is the platform', async () => {
    expect(await subjectOf({ [field]: '203.0.113.9' }, undefined)).toBe('anonymous');
    for (const [other] of FIELDS.filter(([name]) => name !== platform)) {
      expect(await subjectOf({ [field]: '203.0.113.9' }, other)).toBe('anonymous');
    }
  });
});

test.each(['aws', 'toString', '', 5, null, {}])('the platform %j is refused when the handler is wrapped', (value) => {
  const wrap = () => withRateLimit(() => new Response('x'), { limits, clientAddress: value as never });
  expect(wrap).toThrow(/^clientAddress: expected a function, or a platform \(azure-front-door, cloudflare, /);
});

describe('an instance that sleeps after a response', () => {
  afterEach(() => {
    Reflect.deleteProperty(globalThis, VERCEL);
  });

  /** A handler behind a store that takes its time, and what keeps its instance awake. */
  function setUp(options: object = { name: 'p', limits, count: 'failures' }) {
    const { store, pending } = slowRefunds();
    const kept: Promise<unknown>[] = [];
    const context = { waitUntil: (work: Promise<unknown>) => void kept.push(work) };
    const all = { store, timeoutMs: 5000, clientAddress: () => '203.0.113.9', ...options } as unknown as FetchOptions<
      unknown[]
    >;
    const handler = withRateLimit((_: Request, ..._rest: unknown[]) => new Response('x'), all);
    const left = async () =>
      (await [...handler.gate.limiters.values()][0]?.peek('ip=203.0.113.9'))?.limits[0]?.remaining;
    return { handler, left, kept, context, pending };
  }

  test.each([
    ['Workers: its third argument', (context: object) => [{ KEY: 'x' }, context]],
    ['Netlify: its second argument', (context: object) => [{ ip: '203.0.113.9', ...context }]],
    [
      'Vercel: a context of its own',
      (context: object) => {
        Reflect.set(globalThis, VERCEL, { get: () => context });
        return [];
      },
    ],
  ])('is kept awake until all is stored, by what it has: %s', async (_, argumentsOf) => {
    const { handler, left, kept, context, pending } = setUp();
    const response = await handler(new Request('http://a/'), ...argumentsOf(context));
    expect(kept.length).toBe(1);
    await response.text();
    expect(pending()).toBe(1);
    await Promise.all(kept);
    expect([pending(), await left()]).toEqual([0, 9]);
  });

  test('is kept awake until a refusal has given back what other policies charged', async () => {
    const none = fixedWindow({ limit: 0, window: '1d' });
    const policies = [
      { name: 'wide', limits },
      { name: 'none', limits: none },
    ];
    const { handler, left, kept, context, pending } = setUp({ policies });
    expect((await handler(new Request('http://a/'), context)).status).toBe(429);
    expect(kept.length).toBe(1);
    expect(pending()).toBe(1);
    await Promise.all(kept);
    expect([pending(), await left()]).toEqual([0, 9]);
  });

  test('is left alone where nothing is left to do', async () => {
    const { handler, kept, context } = setUp({ name: 'p', limits });
    await handler(new Request('http://a/'), context);
    expect(kept).toEqual([]);
  });

  test('answers as ever where the platform takes no more work', async () => {
    const { handler } = setUp();
    const waitUntil = (): void => {
      throw new TypeError('Illegal invocation');
    };
    const response = await handler(new Request('http://a/'), { waitUntil });
    expect([response.status, await response.text()]).toEqual([200, 'x']);
  });

  test('is recognised by its context alone', () => {
    expect([keepAliveOf([]), keepAliveOf([undefined, null, 5, { waitUntil: true }])]).toEqual([undefined, undefined]);
    Reflect.set(globalThis, VERCEL, { get: () => undefined });
    expect(keepAliveOf([])).toBeUndefined();
  });
});

// As the pages on the platforms show them: their types are the platforms' own, as far as they are used.
interface WorkersContext {
  waitUntil(work: Promise<unknown>): void;
  passThroughOnException(): void;
}
interface NetlifyContext {
  readonly ip: string;
  waitUntil(work: Promise<unknown>): void;
}
interface DenoInfo {
  readonly remoteAddr: { readonly transport: 'tcp'; readonly hostname: string; readonly port: number };
}

test('handlers keep the types that each platform asks for', () => {
  const store = memoryStore();
  const workers: {
    fetch(request: Request, env: { KEY: string }, context: WorkersContext): Response | Promise<Response>;
  } = {
    fetch: withRateLimit(
      (request: Request, env: { KEY: string }, _context: WorkersContext) => new Response(env.KEY + request.url),
      { name: 'p', limits, store, clientAddress: 'cloudflare' },
    ),
  };
  const vercel: { GET(request: Request): Promise<Response> } = {
    GET: withRateLimit((request) => new Response(request.url), { name: 'p', limits, store, clientAddress: 'vercel' }),
  };
  const netlify: (request: Request, context: NetlifyContext) => Promise<Response> = withRateLimit(
    (_: Request, context: NetlifyContext) => new Response(context.ip),
    { name: 'p', limits, store, key: ({ request }) => request.headers.get('authorization') ?? undefined },
  );
  const deno: (request: Request, info: DenoInfo) => Promise<Response> = withRateLimit(
    (_: Request, info: DenoInfo) => new Response(info.remoteAddr.hostname),
    { name: 'p', limits, store },
  );
  expect([workers.fetch, vercel.GET, netlify, deno].map((handler) => typeof handler)).toEqual(
    Array(4).fill('function'),
  );
});
