import { afterAll, beforeAll, expect, test } from 'vitest';
import { startProxy } from '../support/proxy.js';
import { type Server, startServer } from '../support/servers.js';
import { READ, type RunningAdmin, startAdmin } from './admin-support.js';
import { onCleanup } from './gateway-support.js';

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const start = (admin: object = {}, rest: object = {}): Promise<RunningAdmin> =>
  startAdmin(admin, { store: server.url, timeout: '2s', ...rest });

const pair = async () => Promise.all([start(), start()]);
let subjects = 0;
const fresh = () => [`k${subjects++}`];

test('a block through one process is refused by the other with its next decision, until it is taken away', async () => {
  const [a, b] = await pair();
  const subject = fresh();
  expect(await b.consume(subject)).toMatchObject({ allowed: true });
  const asked = { policy: 'per-key', subject };
  expect(await a.post('/admin/subjects/block', { ...asked, for: '1h' })).toMatchObject({ json: { blocked: true } });
  expect(await b.consume(subject)).toMatchObject({ allowed: false, reason: 'blocked' });
  const { json } = await b.post('/admin/subjects/inspect', asked, READ);
  expect(json).toMatchObject({ allowed: false, reason: 'blocked', override: null, limits: [] });
  const left = json?.blocked as { readonly forMs: number } | undefined;
  expect(left?.forMs).toBeGreaterThan(3_500_000);
  expect(left?.forMs).toBeLessThanOrEqual(3_600_000);
  expect(await b.post('/admin/subjects/unblock', asked)).toMatchObject({ json: { wasBlocked: true } });
  expect(await a.consume(subject)).toMatchObject({ allowed: true });
  expect(await a.post('/admin/subjects/unblock', asked)).toMatchObject({ json: { wasBlocked: false } });
});

test('an override through one process applies in the other at once, and what was used stays used', async () => {
  const [a, b] = await pair();
  const subject = fresh();
  await b.consume(subject, { cost: 4 });
  const asked = { policy: 'per-key', subject };
  const inspected = async (at: RunningAdmin) => (await at.post('/admin/subjects/inspect', asked, READ)).json;
  await a.post('/admin/subjects/override', { ...asked, for: '1h', plan: 'pro' });
  expect(await inspected(b)).toMatchObject({ override: { plan: 'pro' }, limits: [{ limit: 50 }] });
  expect(await b.consume(subject)).toMatchObject({ limits: [{ limit: 50 }] });
  const limits = { tokenBucket: { capacity: 5, refill: 5, every: '1d' } };
  await a.post('/admin/subjects/override', { ...asked, for: '1h', limits });
  expect(await inspected(b)).toMatchObject({
    override: { limits: [{ tokenBucket: { capacity: 5 } }] },
    limits: [{ limit: 5, remaining: 0 }],
  });
  expect(await b.consume(subject)).toMatchObject({ allowed: false, reason: 'limit-exceeded' });
  expect(await b.post('/admin/subjects/remove-override', asked)).toMatchObject({ json: { wasOverridden: true } });
  expect(await a.consume(subject)).toMatchObject({ allowed: true, limits: [{ limit: 10, remaining: 4 }] });
  expect(await inspected(a)).toMatchObject({ override: null });
});

test('a refund and a reset through one process are seen by the other', async () => {
  const [a, b] = await pair();
  const subject = fresh();
  for (let i = 0; i < 10; i++) await b.consume(subject);
  expect(await b.consume(subject)).toMatchObject({ allowed: false });
  const asked = { policy: 'per-key', subject };
  const { json } = await a.post('/admin/subjects/refund', { ...asked, amount: 3 });
  expect(json).toMatchObject({ limits: [{ remaining: 3 }] });
  expect(await b.consume(subject, { cost: 4 })).toMatchObject({ allowed: false });
  expect(await b.consume(subject, { cost: 3 })).toMatchObject({ allowed: true });
  // Never above full.
  await a.post('/admin/subjects/refund', { ...asked, amount: 1000 });
  expect((await a.get(`/admin/subjects/per-key?part=${subject[0]}`)).json).toMatchObject({
    limits: [{ remaining: 10, limit: 10 }],
  });
  await b.consume(subject, { cost: 10 });
  expect(await a.post('/admin/subjects/reset', asked)).toMatchObject({ json: { keysRemoved: 1 } });
  expect(await b.consume(subject, { cost: 10 })).toMatchObject({ allowed: true });
  await a.post('/admin/subjects/override', { ...asked, for: '1h', plan: 'pro' });
  await a.post('/admin/subjects/block', { ...asked, for: '1h' });
  await b.post('/admin/subjects/reset', asked);
  expect(await a.consume(subject)).toMatchObject({ allowed: true, limits: [{ limit: 50, remaining: 49 }] });
});

test('a subject is the same by its parts and by the text of its decisions', async () => {
  const admin = await start();
  const subject = fresh();
  const { subject: text } = await admin.consume(subject, { cost: 2 });
  const found = [
    await admin.get(`/admin/subjects/per-key?part=${subject[0]}`),
    await admin.get(`/admin/subjects/per-key?${new URLSearchParams({ subject: String(text) })}`),
    await admin.post('/admin/subjects/inspect', { policy: 'per-key', subject: text }, READ),
  ];
  for (const { json } of found) expect(json).toMatchObject({ subject: text, limits: [{ remaining: 8 }] });
});

test('each operation is a line in the log and an entry, with who did it and a hashed subject', async () => {
  const admin = await start();
  const subject = ['a-key-that-is-a-secret'];
  const asked = { policy: 'per-key', subject };
  await admin.post('/admin/subjects/block', { ...asked, for: '10m' });
  await admin.post('/admin/subjects/reset', asked);
  await admin.post('/admin/subjects/reset', { ...asked, policy: 'nobody' });
  await admin.post('/admin/subjects/reset', asked, READ);
  await admin.post('/admin/subjects/inspect', asked, READ);
  const { hash } = (await admin.post('/admin/subjects/inspect', asked, READ)).json ?? {};
  const entries = (await admin.get('/admin/audit')).json?.entries as readonly object[];
  const common = { policy: 'per-key', subject: hash, who: 'ada' };
  expect(entries).toEqual([
    { time: expect.any(String), who: 'viewer', operation: 'reset', result: 'refused', status: 403 },
    expect.objectContaining({ who: 'ada', operation: 'reset', policy: 'nobody', result: 'refused', status: 404 }),
    expect.objectContaining({ ...common, operation: 'reset', result: 'done', status: 200 }),
    expect.objectContaining({ ...common, operation: 'block', details: '{"for":"10m"}', result: 'done' }),
  ]);
  const lines = admin.lines.filter((line) => line.includes('admin operation'));
  expect(lines.length).toBe(4);
  expect(lines[0]).toContain(`"who":"ada","operation":"block","policy":"per-key","subject":"${hash}"`);
  expect(JSON.stringify([entries, admin.lines])).not.toContain('a-key-that-is-a-secret');
  const plain = await start({ auditSubjects: 'plain' });
  await plain.post('/admin/subjects/reset', asked);
  const { json } = await plain.get('/admin/audit');
  expect(json).toMatchObject({ entries: [{ subject: 'header.x-api-key=a-key-that-is-a-secret' }] });
});

test('the hottest and the most refused subjects come first, hashed where the file says so', async () => {
  const admin = await start();
  for (let i = 0; i < 12; i++) await admin.consume(['greedy']);
  for (let i = 0; i < 3; i++) await admin.consume(['modest']);
  const { json } = await admin.get('/admin/top?count=2');
  expect(json).toMatchObject({
    by: 'requests',
    total: 15,
    subjects: [
      { policy: 'per-key', subject: 'header.x-api-key=greedy', count: 12, error: 0 },
      { policy: 'per-key', subject: 'header.x-api-key=modest', count: 3, error: 0 },
    ],
  });
  expect((await admin.get('/admin/top?by=refusals&policy=per-key')).json).toMatchObject({
    total: 2,
    subjects: [{ subject: 'header.x-api-key=greedy', count: 2 }],
  });
  const hidden = await start({ topSubjects: 'hashed' });
  await hidden.consume(['greedy']);
  const { text } = await hidden.get('/admin/top');
  expect(text).toMatch(/"subject":"hash:[0-9a-f]{16}"/);
  expect(text).not.toContain('greedy');
});

test('during an outage nodes say which breaker is open, and an operation is answered with 503', async () => {
  const proxy = await startProxy(server.port);
  onCleanup(() => proxy.close());
  const admin = await start({}, { store: `redis://127.0.0.1:${proxy.port}`, timeout: '50ms' });
  proxy.blackhole();
  for (let i = 0; i < 10; i++) await admin.consume(['k']);
  const { json } = await admin.get('/admin/nodes');
  expect(json).toMatchObject({
    store: { address: `redis://127.0.0.1:${proxy.port}`, status: 'fail' },
    breakers: [{ state: 'open', timeoutMs: 50 }],
    failing: [{ policy: 'per-key', mode: 'local' }],
  });
  const answer = await admin.post('/admin/subjects/block', { policy: 'per-key', subject: ['k'], for: '1h' });
  expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
  expect((await admin.get('/admin/audit')).json?.entries).toMatchObject([{ result: 'failed', status: 503 }]);
  const inspected = await admin.post('/admin/subjects/inspect', { policy: 'per-key', subject: ['k'] }, READ);
  expect(inspected).toMatchObject({ status: 200, json: { degraded: { mode: 'local' } } });
});
