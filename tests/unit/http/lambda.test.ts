import type {
  ALBHandler,
  APIGatewayProxyEvent,
  APIGatewayProxyEventV2,
  APIGatewayProxyHandler,
  APIGatewayProxyHandlerV2,
  Context,
  SQSEvent,
} from 'aws-lambda';
import { type ComportaError, fixedWindow, memoryStore, slidingWindow } from 'comporta';
import type { RequestView, Verdict } from 'comporta/http';
import { withRateLimit } from 'comporta/lambda';
import { describe, expect, test } from 'vitest';
import { albEvent, httpEvent, restEvent } from './lambda-events.js';
import { items } from './parse.js';
import { slowRefunds } from './slow-refunds.js';
import { ManualClock } from './stores.js';

const limits = slidingWindow({ limit: 1, window: '10s' });
const still = () => memoryStore({ clock: new ManualClock() });
const leftMs = (ms: number) => ({ getRemainingTimeInMillis: () => ms }) as Context;

/** What a door sees of an event. */
async function seen(event: unknown, options: object = {}) {
  let found: (RequestView & { subject: string | undefined }) | undefined;
  const onVerdict = ({ decisions }: Verdict, view: RequestView) => {
    const { method, url, route, peerAddress } = view;
    const header = (name: string) => view.header(name);
    found = { method, url, route, peerAddress, header, request: view.request, subject: decisions[0]?.subject };
  };
  const handler = withRateLimit(async (_: unknown) => ({ statusCode: 200 }), { limits, onVerdict, ...options });
  await handler(event, {});
  return found;
}

describe('what an event says', () => {
  test.each([
    ['a REST API', restEvent(), '/users/7?q=%C3%BC%26&q=b', '/users/:id', ['first', 'last']],
    ['an HTTP API or function URL', httpEvent(), '/users/7?q=%C3%BC&q=b', '/users/:id', ['first,last']],
    ['a load balancer', albEvent(), '/users/7?q=%C3%BC', undefined, ['last']],
  ])('of %s is read as its request was', async (_, event, url, route, user) => {
    const view = await seen(event);
    expect(view).toMatchObject({ method: 'GET', url, peerAddress: '203.0.113.9', subject: 'ip=203.0.113.9' });
    expect([view?.route, view?.header('x-user'), view?.header('x-none')]).toEqual([route, user, []]);
    expect(view?.request).toBe(event);
  });

  test('in lists is read from the lists, and cookies are one field again', async () => {
    const lists = albEvent({
      headers: undefined,
      multiValueHeaders: { 'x-forwarded-for': ['1.1.1.1', '2.2.2.2, 203.0.113.9:51234'] },
      queryStringParameters: undefined,
      multiValueQueryStringParameters: { a: ['1', '2'] },
    });
    expect(await seen(lists)).toMatchObject({ url: '/users/7?a=1&a=2', subject: 'ip=203.0.113.9' });
    expect((await seen(httpEvent()))?.header('cookie')).toEqual(['a=1; b=2']);
    expect(await seen(httpEvent(), { key: 'cookie:b' })).toMatchObject({ subject: 'cookie.b=2' });
  });

  test('of routes is a template that policies match, whatever the stage in front of the path', async () => {
    const match = { path: ['/users/:id', '/files/*'] };
    for (const [routeKey, rawPath] of [
      ['GET /users/{id}', '/prod/users/7'],
      ['ANY /files/{rest+}', '/prod/files/a/b'],
    ] as const) {
      expect((await seen(httpEvent({ routeKey, rawPath }), { match }))?.subject).toBe('ip=203.0.113.9');
    }
    const other = httpEvent({ routeKey: '$default', rawPath: '/prod/users/7' });
    expect(await seen(other, { match })).toMatchObject({ route: undefined, subject: undefined });
  });

  test('missing or empty parts are read as such', async () => {
    const bare = { httpMethod: 'GET', path: '/', requestContext: {}, headers: null, multiValueHeaders: null };
    expect(await seen({ ...bare, queryStringParameters: null }, { onError: () => undefined })).toMatchObject({
      url: '/',
      peerAddress: undefined,
      subject: 'anonymous',
    });
    const empty = { requestContext: { http: { method: 'GET' } } };
    expect(await seen(empty, { onError: () => undefined })).toMatchObject({ url: '/', subject: 'anonymous' });
  });

  test('behind more proxies of one’s own is walked through from the load balancer on', async () => {
    const xff = '9.9.9.9, 198.51.100.7, 10.0.0.8';
    const event = albEvent({ headers: { 'x-forwarded-for': xff } });
    expect(await seen(event, { trustedProxies: ['private'] })).toMatchObject({ subject: 'ip=198.51.100.7' });
    expect(await seen(event)).toMatchObject({ subject: 'ip=10.0.0.8' });
  });
});

describe('a refusal', () => {
  const refusalOf = async (event: unknown) => {
    const handler = withRateLimit(async (_: unknown) => ({ statusCode: 200 }), { limits, store: still() });
    await handler(event, {});
    return handler(event, {});
  };

  test.each([
    ['a REST API', restEvent()],
    ['an HTTP API', httpEvent()],
    ['a load balancer', albEvent()],
  ])('of %s has its fields once', async (_, event) => {
    const { headers, ...rest } = (await refusalOf(event)) as { headers: Record<string, string> };
    expect(headers).toMatchObject({ 'content-type': 'application/problem+json', 'retry-after': '10' });
    const description = 'httpMethod' in event && !('resource' in event);
    expect(rest).toEqual({
      statusCode: 429,
      ...(description ? { statusDescription: '429 Too Many Requests' } : {}),
      body: expect.stringContaining('"status":429'),
      isBase64Encoded: false,
    });
  });

  test('of a load balancer that sends lists has lists', async () => {
    const event = albEvent({ headers: undefined, multiValueHeaders: { 'x-forwarded-for': ['203.0.113.9'] } });
    const answer = (await refusalOf(event)) as { multiValueHeaders: Record<string, string[]> };
    expect(answer).not.toHaveProperty('headers');
    expect(answer.multiValueHeaders['retry-after']).toEqual(['10']);
  });
});

describe('an answer of the handler', () => {
  const answered = async (event: unknown, answer: unknown) =>
    withRateLimit(async (_: unknown) => answer, { limits, store: still() })(event, {});

  test('keeps what it has and is not changed itself', async () => {
    const own = Object.freeze({ statusCode: 201, headers: Object.freeze({ A: '1' }), body: 'x' });
    expect(await answered(restEvent(), own)).toMatchObject({
      statusCode: 201,
      headers: { A: '1', 'ratelimit-policy': '"default";q=1;w=10' },
      body: 'x',
    });
    expect(own.headers).toEqual({ A: '1' });
  });

  test('that has fields of another limiter, in any case and form, is joined with them', async () => {
    const own = { statusCode: 200, headers: { RateLimit: '"a";r=1' }, multiValueHeaders: { 'Set-Cookie': ['a', 'b'] } };
    const joined = (await answered(restEvent(), own)) as typeof own;
    expect(Object.keys(items((joined.headers as Record<string, string>).ratelimit ?? null))).toEqual(['a', 'default']);
    expect([joined.headers, joined.multiValueHeaders]).toEqual([
      expect.not.objectContaining({ RateLimit: expect.anything() }),
      own.multiValueHeaders,
    ]);
  });

  test('in format 2.0 may be anything, and means what it meant', async () => {
    const fields = expect.objectContaining({ 'content-type': 'application/json', ratelimit: expect.any(String) });
    for (const [answer, body] of [
      ['text', 'text'],
      [{ a: 1 }, '{"a":1}'],
      [[1], '[1]'],
    ] as const) {
      expect(await answered(httpEvent(), answer)).toMatchObject({ statusCode: 200, headers: fields, body });
    }
    expect([await answered(httpEvent(), undefined), await answered(httpEvent(), null)]).toEqual([undefined, null]);
  });

  test('that its sender will not understand is left to the sender', async () => {
    expect([await answered(restEvent(), 'text'), await answered(albEvent(), { a: 1 })]).toEqual(['text', { a: 1 }]);
  });
});

describe('the end of an invocation', () => {
  const counting = (handler: () => unknown, options: object = {}, delayMs?: number) => {
    const { store, pending } = slowRefunds(delayMs);
    const statuses: number[] = [];
    const count = ({ status }: { status: number }) => {
      statuses.push(status);
      return status < 400 ? 0 : 1;
    };
    const all = {
      name: 'p',
      limits: fixedWindow({ limit: 9, window: '1d' }),
      store,
      count,
      timeoutMs: 5000,
      ...options,
    };
    const handle = withRateLimit(async (_: unknown, _context: Context) => handler(), all);
    const left = async () => (await handle.gate.limiters.get('p')?.peek('ip=203.0.113.9'))?.limits[0]?.remaining;
    return { handle, left, statuses, pending };
  };

  test('comes after all that it changes is stored', async () => {
    const { handle, left, statuses, pending } = counting(() => ({ statusCode: 200 }));
    await handle(restEvent(), leftMs(3000));
    expect([statuses, pending(), await left()]).toEqual([[200], 0, 9]);
  });

  test('is a failure where the handler throws, and its error goes on', async () => {
    const { handle, left, statuses } = counting(() => {
      throw new RangeError('mine');
    });
    await expect(handle(restEvent(), leftMs(3000))).rejects.toThrow(RangeError);
    expect([statuses, await left()]).toEqual([[500], 8]);
  });

  test.each([
    ['a status in text', restEvent(), { statusCode: '204' }, 204],
    ['no answer to a REST API', restEvent(), undefined, 502],
    ['no answer in format 2.0', httpEvent(), undefined, 200],
  ])('has the status that %s comes to', async (_, event, answer, status) => {
    const { handle, statuses } = counting(() => answer);
    await handle(event, leftMs(3000));
    expect(statuses).toEqual([status]);
  });

  test('does not wait beyond the time that the function has left, and says so', async () => {
    const errors: ComportaError[] = [];
    const onError = (error: ComportaError) => errors.push(error);
    const { handle, pending } = counting(() => ({ statusCode: 200 }), { onError }, 300);
    await handle(restEvent(), leftMs(0));
    expect(pending()).toBe(1);
    await handle(restEvent(), leftMs(3000));
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('had to answer before')]);
  });

  test('comes after a refusal has given back what other policies charged', async () => {
    const { store, pending } = slowRefunds();
    const day = (limit: number) => fixedWindow({ limit, window: '1d' });
    const policies = [
      { name: 'wide', limits: day(9) },
      { name: 'none', limits: day(0) },
    ];
    const handle = withRateLimit(async (_: unknown) => 'x', { policies, store });
    expect(await handle(restEvent(), leftMs(3000))).toMatchObject({ statusCode: 429 });
    expect(pending()).toBe(0);
    expect((await handle.gate.limiters.get('wide')?.peek('ip=203.0.113.9'))?.limits[0]?.remaining).toBe(9);
  });
});

test('events of other kinds pass untouched and uncounted, reported once', async () => {
  const errors: ComportaError[] = [];
  const onError = (error: ComportaError) => errors.push(error);
  const handle = withRateLimit(async (event: unknown) => event, { limits, onError });
  const others = [{ Records: [] }, {}, null, 'text', 7, undefined, { requestContext: null }, { httpMethod: 'GET' }];
  for (const event of others) expect(await handle(event, {})).toBe(event);
  expect(errors.map(({ message }) => message)).toEqual([expect.stringMatching(/^event: no HTTP request/)]);
});

test('handlers that take a callback, or are none, are refused', () => {
  const message = (handler: unknown) => () => withRateLimit(handler as never, { limits });
  expect(message((_: unknown, _context: unknown, _callback: unknown) => undefined)).toThrow(
    /^handler: takes a callback/,
  );
  expect(message(undefined)).toThrow(/^handler: expected an async function/);
});

test('handlers typed with @types/aws-lambda are taken and stay so, and key functions get their event', async () => {
  const v2: APIGatewayProxyHandlerV2 = async () => 'x';
  const v1: APIGatewayProxyHandler = async () => ({ statusCode: 200, body: 'x' });
  const alb: ALBHandler = async () => ({ statusCode: 200 });
  const limited: APIGatewayProxyHandlerV2 = withRateLimit(v2, { limits, key: ({ request }) => request.rawPath });
  const rest: APIGatewayProxyHandler = withRateLimit(v1, { limits, key: ({ request }) => request.resource });
  const balancer: ALBHandler = withRateLimit(alb, { limits, cost: ({ request }) => request.path.length });
  const inline = withRateLimit(
    async (event: APIGatewayProxyEventV2 | SQSEvent, context: Context) => [event, context.awsRequestId],
    { limits, key: ({ request }) => ('rawPath' in request ? request.rawPath : undefined) },
  );
  const untyped = withRateLimit(async (event) => event.rawPath, { limits, key: ({ request }) => request.rawPath });
  // @ts-expect-error: an event of format 1.0 has no rawPath
  withRateLimit(async (_: APIGatewayProxyEvent) => 'x', { limits, key: ({ request }) => request.rawPath });
  expect([limited, rest, balancer, inline, untyped].map((handler) => typeof handler)).toEqual(
    Array(5).fill('function'),
  );
});
