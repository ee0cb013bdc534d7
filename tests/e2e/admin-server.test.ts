import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { adminFile, OPERATE, perKey, READ, startAdmin } from './admin-support.js';
import { ask } from './api-support.js';
import { makeFolder } from './cli-support.js';
import { configOf, openSocket } from './gateway-support.js';

test('the policies are told as they are in force, with limits as the file writes them', async () => {
  const told = { ...perKey, name: 'told', revision: 7, shadow: { percent: 5 }, onStoreFailure: 'closed' };
  const admin = await startAdmin({}, { policies: [{ ...told, match: { path: '/a/*', methods: ['GET'] } }] });
  expect((await admin.get('/admin/policies')).json).toEqual({
    policies: [
      {
        name: 'told',
        key: ['header:x-api-key'],
        limits: [{ tokenBucket: { capacity: 10, refill: 10, every: '1d' } }],
        match: { path: ['/a/*'], methods: ['GET'] },
        mode: 'closed',
        timeoutMs: 50,
        revision: 7,
        shadow: { percent: 5 },
        plans: { pro: [{ tokenBucket: { capacity: 50, refill: 50, every: '1d' } }] },
        blocks: true,
        overrides: true,
      },
    ],
  });
});

test('a reload puts other policies and tokens in force, and what was counted and recorded stays', async () => {
  const admin = await startAdmin();
  await admin.consume(['before']);
  await admin.post('/admin/subjects/reset', { policy: 'per-key', subject: ['before'] });
  const token = 'another-token-of-the-tests';
  const tokens = [{ token, role: 'operate', name: 'bob' }];
  admin.app.apply(configOf(adminFile({ tokens }, { policies: [{ ...perKey, revision: 2 }] })));
  for (const old of [READ, OPERATE]) expect((await admin.get('/admin/policies', old)).status).toBe(401);
  expect((await admin.get('/admin/policies', token)).json).toMatchObject({ policies: [{ revision: 2 }] });
  for (let i = 0; i < 3; i++) await admin.consume(['after']);
  expect((await admin.get('/admin/top', token)).json).toMatchObject({
    total: 4,
    subjects: [
      { subject: 'header.x-api-key=after', count: 3 },
      { subject: 'header.x-api-key=before', count: 1 },
    ],
  });
  expect((await admin.get('/admin/audit', token)).json).toMatchObject({
    entries: [{ who: 'ada', operation: 'reset' }],
  });
});

test.each(['strict', 'compatible'])(
  'domains of the rate limit service are among the hottest in mode %s',
  async (mode) => {
    const config = join(makeFolder(), 'domains.yaml');
    const rule = { key: 'user', rate_limit: { unit: 'hour', requests_per_unit: 2 } };
    writeFileSync(config, JSON.stringify({ domain: 'apis', descriptors: [rule] }));
    const admin = await startAdmin({}, { envoy: { listen: '127.0.0.1:0', config, mode, drainDelay: 0 } });
    const body = JSON.stringify({ domain: 'apis', descriptors: [{ entries: [{ key: 'user', value: 'ada' }] }] });
    const headers = { 'content-type': 'application/json', authorization: 'Bearer an-api-token-of-the-tests' };
    for (let i = 0; i < 3; i++) await ask(admin.app.api?.port ?? 0, '/json', { method: 'POST', headers, body });
    const { json } = await admin.get('/admin/top?policy=rls.apis');
    expect(json).toMatchObject({ total: 3, subjects: [{ policy: 'rls.apis', count: 3 }] });
    expect((await admin.get('/admin/top?by=refusals')).json).toMatchObject({ total: 1 });
  },
);

test('the audit log tells of an override its limits as a file writes them', async () => {
  const admin = await startAdmin();
  const limits = [{ fixedWindow: { limit: 3, window: '1h' } }];
  await admin.post('/admin/subjects/override', { policy: 'per-key', subject: ['k'], for: '1d', limits });
  const { json } = await admin.get('/admin/audit');
  expect(json).toMatchObject({ entries: [{ operation: 'override', result: 'done', details: expect.any(String) }] });
  const entries = json?.entries as readonly { readonly details: string }[] | undefined;
  expect(JSON.parse(entries?.[0]?.details ?? '')).toMatchObject({ for: '1d', limits });
});

test('a caller that goes away in the midst of a body leaves nothing behind', async () => {
  const admin = await startAdmin();
  const { socket } = await openSocket(admin.port);
  const head = ['POST /admin/subjects/reset HTTP/1.1', 'Host: a', `Authorization: Bearer ${OPERATE}`];
  socket.write([...head, 'Content-Type: application/json', 'Content-Length: 100', '', '{"policy"'].join('\r\n'));
  socket.destroy();
  expect((await admin.get('/admin/audit')).json).toEqual({ entries: [] });
  expect(admin.lines.filter((line) => line.startsWith('error'))).toEqual([]);
});

test('without the section nothing of it runs', async () => {
  const admin = await startAdmin({}, { admin: undefined });
  expect(admin.app.admin).toBeUndefined();
});
