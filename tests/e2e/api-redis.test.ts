import { createLimiter, slidingWindow } from 'comporta';
import { httpStore } from 'comporta/http-store';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Server, startServer } from '../support/servers.js';
import { apiFile, type RunningApi, STORE_TOKEN, startApi } from './api-support.js';
import { configOf, onCleanup } from './gateway-support.js';

const LIMIT = 20;
const policy = { name: 'shared', key: 'global', limits: { slidingWindow: { limit: LIMIT, window: '1d' } } };

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const start = (rest: object = {}, api: object = {}): Promise<RunningApi> =>
  startApi(api, { store: server.url, policies: [policy], timeout: '2s', ...rest });

type Json = Readonly<Record<string, unknown>>;

it('any instance gives back, once, what another has charged, and together they admit exactly the limit', async () => {
  const [a, b] = await Promise.all([start(), start()]);
  const consume = async (api: RunningApi): Promise<Json> =>
    (await api.post('/v1/consume', { policy: 'shared', subject: 's' })).json ?? {};
  const made = await Promise.all(Array.from({ length: 60 }, (_, i) => consume(i % 2 === 0 ? a : b)));
  const allowed = made.filter((decision) => decision.allowed === true);
  expect(allowed.length).toBe(LIMIT);
  expect(made.every(({ degraded }) => degraded === undefined)).toBe(true);
  // Each is asked for at both instances, and twice at each.
  const refunds = allowed
    .slice(0, 7)
    .flatMap((decision) => [a, b, a, b].map((api) => api.post('/v1/refund', { decision })));
  const answers = await Promise.all(refunds);
  expect(answers.filter(({ json }) => json?.refunded === true).length).toBe(7);
  const again = await Promise.all(Array.from({ length: 30 }, (_, i) => consume(i % 2 === 0 ? b : a)));
  expect(again.filter((decision) => decision.allowed === true).length).toBe(7);
});

it('a reservation of one instance is settled by another, once', async () => {
  const [a, b] = await Promise.all([start(), start()]);
  const { json: reservation } = await a.post('/v1/reserve', { policy: 'shared', subject: 'r', cost: 15 });
  const settle = (api: RunningApi) => api.post('/v1/settle', { reservation, cost: 4 });
  const answers = await Promise.all([settle(b), settle(a), settle(b)]);
  expect(answers.filter(({ json }) => json?.settled === true).length).toBe(1);
  const { json } = await a.post('/v1/peek', { policy: 'shared', subject: 'r' });
  expect(json).toMatchObject({ limits: [{ remaining: LIMIT - 4 }] });
});

it('without the store every call is answered with 200, in the words of its mode, without a host', async () => {
  const modes = ['local', 'open', 'closed'].map((mode) => ({ ...policy, name: mode, onStoreFailure: mode }));
  const api = await start({ store: 'redis://127.0.0.1:1', policies: modes, timeout: '50ms' });
  const consume = async (name: string) => {
    const { status, json, text } = await api.post('/v1/consume', { policy: name, subject: 's' });
    expect(status).toBe(200);
    expect(text).not.toContain('127.0.0.1');
    return json;
  };
  expect(await consume('local')).toMatchObject({
    allowed: true,
    degraded: { mode: 'local' },
    limits: [{ limit: LIMIT }],
  });
  expect(await consume('open')).toMatchObject({ allowed: true, degraded: { mode: 'open' }, limits: [] });
  const closed = await consume('closed');
  expect(closed).toMatchObject({ allowed: false, reason: 'store-unavailable', degraded: { mode: 'closed' } });
  const decision = await consume('open');
  expect(await api.post('/v1/refund', { decision })).toMatchObject({ status: 200, json: { refunded: false } });
  const { json: reservation } = await api.post('/v1/reserve', { policy: 'local', subject: 's', cost: 2 });
  expect(await api.post('/v1/settle', { reservation, cost: 1 })).toMatchObject({
    status: 200,
    json: { settled: true },
  });
});

it('other rules are put in force without a call lost, and those under way end by the old ones', async () => {
  const api = await start({ policies: [policy, { ...policy, name: 'old' }] });
  const renewed = configOf(
    apiFile(
      { tokens: 'another-token-of-the-api' },
      { store: server.url, policies: [{ ...policy, name: 'new' }], timeout: '2s' },
    ),
  );
  server.freeze();
  const calls = Array.from({ length: 20 }, () => api.post('/v1/consume', { policy: 'old', subject: 'reload' }));
  await new Promise((resolve) => setTimeout(resolve, 100));
  api.app.apply(renewed);
  server.thaw();
  const answers = await Promise.all(calls);
  expect(answers.map(({ status, json }) => [status, json?.allowed, json?.degraded])).toEqual(
    answers.map(() => [200, true, undefined]),
  );
  expect((await api.post('/v1/consume', { policy: 'new', subject: 'x' })).status).toBe(401);
  const headers = { authorization: 'Bearer another-token-of-the-api' };
  expect((await api.post('/v1/consume', { policy: 'new', subject: 'x' }, headers)).status).toBe(200);
  expect((await api.post('/v1/consume', { policy: 'old', subject: 'x' }, headers)).status).toBe(404);
});

it("the library's httpStore counts through it what everybody else counts", async () => {
  const api = await start({}, { store: { tokens: STORE_TOKEN } });
  const store = httpStore(`http://127.0.0.1:${api.port}`, { token: STORE_TOKEN });
  const limiter = createLimiter({
    policy: 'shared',
    limits: slidingWindow({ limit: LIMIT, window: '1d' }),
    store,
    timeoutMs: 2000,
  });
  onCleanup(async () => {
    await limiter.close();
    await store.close();
  });
  await api.post('/v1/consume', { policy: 'shared', subject: 'edge', cost: 5 });
  const made = await Promise.all(Array.from({ length: 25 }, () => limiter.consume('edge')));
  expect(made.filter(({ allowed }) => allowed).length).toBe(LIMIT - 5);
  expect(made.every(({ degraded }) => degraded === undefined)).toBe(true);
  expect((await api.post('/v1/peek', { policy: 'shared', subject: 'edge' })).json).toMatchObject({ allowed: false });
  const stranger = httpStore(`http://127.0.0.1:${api.port}`, { token: 'a-token-that-is-not-taken' });
  await expect(stranger.ping()).rejects.toThrow(/token/);
  await stranger.close();
});

it('many callers at once are all answered, each by its own decision', async () => {
  const api = await start({
    policies: [{ ...policy, name: 'wide', limits: { slidingWindow: { limit: 1000, window: '1d' } } }],
  });
  const checks = Array.from({ length: 100 }, (_, i) => ({ policy: 'wide', subject: `s${i % 10}` }));
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => api.post('/v1/consume-batch', { checks, mode: 'each' })),
  );
  const ids = answers.flatMap(({ text }) => (JSON.parse(text).decisions as { id: string }[]).map(({ id }) => id));
  expect(new Set(ids).size).toBe(2000);
  const { json } = await api.post('/v1/peek', { policy: 'wide', subject: 's3' });
  expect(json).toMatchObject({ limits: [{ remaining: 1000 - 200 }] });
});
