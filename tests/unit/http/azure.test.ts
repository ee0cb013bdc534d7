import { runInNewContext } from 'node:vm';
import { app, HttpRequest, HttpResponse, type HttpResponseInit, InvocationContext } from '@azure/functions';
import { fixedWindow, memoryStore, slidingWindow } from 'comporta';
import { withRateLimit } from 'comporta/azure';
import type { Verdict } from 'comporta/http';
import { expect, test } from 'vitest';
import { slowRefunds } from './slow-refunds.js';
import { ManualClock } from './stores.js';

const limits = slidingWindow({ limit: 1, window: '10s' });
const still = () => memoryStore({ clock: new ManualClock() });
const context = new InvocationContext();

function get(headers: Record<string, string> = {}): HttpRequest {
  const own = { 'x-forwarded-for': '203.0.113.9:51234', ...headers };
  return new HttpRequest({ method: 'GET', url: 'https://a.example/api/users/7?x=1', headers: own });
}

/** The subject that a request counts for. */
async function subjectOf(request: HttpRequest, options: object = {}): Promise<string | undefined> {
  let subject: string | undefined;
  const onVerdict = ({ decisions }: Verdict) => {
    subject = decisions[0]?.subject;
  };
  await withRateLimit(() => ({}), { limits, onVerdict, onError: () => undefined, ...options })(request, context);
  return subject;
}

test('a request over its limit is refused without reaching the handler, others get their fields', async () => {
  let calls = 0;
  const handler = withRateLimit(() => ({ status: ++calls, body: 'x' }), { limits, store: still() });
  const [passed, refused] = [await handler(get(), context), await handler(get(), context)];
  expect(new Headers(passed.headers as Headers).get('ratelimit')).toBe('"default";r=0;t=10');
  expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '10' }, body: expect.any(String) });
  expect([calls, passed.status]).toEqual([1, 1]);
  const response = new HttpResponse(refused as HttpResponseInit);
  expect([response.status, response.headers.get('content-type')]).toEqual([429, 'application/problem+json']);
});

test('the client is the entry that App Service wrote last, without its port and whatever stands before', async () => {
  expect(await subjectOf(get())).toBe('ip=203.0.113.9');
  expect(await subjectOf(get({ 'x-forwarded-for': '1.1.1.1, [2001:db8:1:2::9]:443' }))).toBe('ip=2001:db8:1:2::/64');
  expect(await subjectOf(get({ 'x-azure-clientip': '1.1.1.1' }))).toBe('ip=203.0.113.9');
  const bare = new HttpRequest({ method: 'GET', url: 'https://a.example/', headers: {} });
  expect(await subjectOf(bare)).toBe('anonymous');
});

test('behind a proxy of one’s own, or Front Door, the client is the one that it names', async () => {
  const behind = get({ 'x-forwarded-for': '1.1.1.1, 203.0.113.7:1, 147.243.0.4:2', 'x-azure-socketip': '203.0.113.8' });
  expect(await subjectOf(behind, { trustedProxies: ['147.243.0.0/16'] })).toBe('ip=203.0.113.7');
  expect(await subjectOf(behind, { clientAddress: 'azure-front-door' })).toBe('ip=203.0.113.8');
  const clientAddress = (request: HttpRequest, { functionName }: InvocationContext) =>
    functionName === '' ? undefined : (request.headers.get('x-own') ?? undefined);
  expect(await subjectOf(get({ 'x-own': '203.0.113.6' }), { clientAddress })).toBe('ip=203.0.113.6');
});

test('answers are changed only where they can be, and none stays none', async () => {
  const answers = [
    Object.freeze({ jsonBody: { a: 1 }, headers: Object.freeze({ A: '1' }), cookies: [{ name: 'c', value: 'd' }] }),
    { headers: new Headers({ a: '1' }) },
    { headers: [['a', '1']] satisfies [string, string][] },
    new HttpResponse({ headers: { a: '1' } }),
    Object.assign(Object.create(null), { headers: { a: '1' } }) as HttpResponseInit,
    runInNewContext("({ headers: { a: '1' } })") as HttpResponseInit,
  ];
  for (const own of answers) {
    const answer = await withRateLimit(() => own, { limits })(get(), context);
    const headers = new Headers(answer.headers as Headers);
    expect([headers.get('a'), headers.get('ratelimit')]).toEqual(['1', '"default";r=0;t=10']);
    expect(answer instanceof HttpResponse).toBe(own instanceof HttpResponse);
  }
  expect(answers[0]).toEqual({ jsonBody: { a: 1 }, headers: { A: '1' }, cookies: [{ name: 'c', value: 'd' }] });
  for (const none of [undefined, null]) {
    expect(await withRateLimit(() => none as never, { limits })(get(), context)).toBe(none);
  }
});

test('what an answer or an error changes is stored when the function returns', async () => {
  const { store, pending } = slowRefunds();
  const statuses: number[] = [];
  const count = ({ status }: { status: number }) => {
    statuses.push(status);
    return status < 400 ? 0 : 1;
  };
  const handler = withRateLimit(
    ({ headers }) => {
      if (headers.has('fail')) throw new RangeError('mine');
      return headers.has('missing') ? { status: 404 } : {};
    },
    { name: 'p', limits: fixedWindow({ limit: 9, window: '1d' }), store, count, timeoutMs: 5000 },
  );
  const left = async () => (await handler.gate.limiters.get('p')?.peek('ip=203.0.113.9'))?.limits[0]?.remaining;
  await handler(get(), context);
  expect([pending(), await left()]).toEqual([0, 9]);
  await handler(get({ missing: '1' }), context);
  await expect(handler(get({ fail: '1' }), context)).rejects.toThrow(RangeError);
  expect([statuses, await left()]).toEqual([[200, 404, 500], 7]);
  await handler.close();
});

test('is a handler by the types of @azure/functions, and key functions get their request', () => {
  const handler = withRateLimit(async (request, { functionName }) => ({ body: functionName + request.url }), {
    limits,
    key: ({ request }) => request.params.id,
  });
  // @ts-expect-error: requests of functions have no such part
  withRateLimit(() => ({}), { limits, key: ({ request }) => request.rawPath });
  const register = (): void => app.http('name', { methods: ['GET'], handler });
  expect(typeof register).toBe('function');
});

test('wrong options are refused when the handler is wrapped', () => {
  const wrap = (options: object) => () => withRateLimit(() => ({}), { limits, ...options });
  expect(wrap({ clientAddress: 'azure' })).toThrow(/^clientAddress: expected a function, or a platform/);
  expect(wrap({ limit: 5 })).toThrow(/^limit: unknown/);
});
