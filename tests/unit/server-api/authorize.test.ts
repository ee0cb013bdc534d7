import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keptApi } from './kept-api.js';

const policies = [
  {
    name: 'per-client',
    match: { path: '/a/:id' },
    key: ['ip', 'path:id'],
    limits: { fixedWindow: { limit: 1, window: '1d' } },
  },
];
const api = keptApi({ authorize: true }, { trustedProxies: ['loopback'], policies });

const forwarded = { 'x-forwarded-method': 'GET', 'x-forwarded-uri': '/a/1', 'x-forwarded-host': 'a.example' };
const original = { 'x-original-method': 'GET', 'x-original-uri': '/a/2', host: 'a.example' };
const ask = (path: string, headers: Record<string, string>) => api.running.ask(path, { headers });

test('each kind of proxy has its own headers and its own refusal', async () => {
  expect((await ask('/v1/authorize', forwarded)).status).toBe(200);
  const refused = await ask('/v1/authorize', { ...forwarded, ...original });
  expect([refused.status, refused.headers['x-comporta-status']]).toEqual([429, undefined]);
  expect((await ask('/v1/authorize?proxy=nginx', { ...original, ...forwarded })).status).toBe(200);
  const forNginx = await ask('/v1/authorize?proxy=nginx', { ...forwarded, ...original });
  expect([forNginx.status, forNginx.headers['x-comporta-status']]).toEqual([403, '429']);
  expect(forNginx.headers['retry-after']).toBe(refused.headers['retry-after']);
  expect(forNginx.headers.ratelimit).toMatch(/^"per-client";r=0;t=\d+$/);
});

test('the parts of another kind do not do, nor does a kind that is not known', async () => {
  expect((await ask('/v1/authorize', original)).json).toMatchObject({ status: 400, field: 'x-forwarded-method' });
  expect((await ask('/v1/authorize?proxy=nginx', forwarded)).json).toMatchObject({
    status: 400,
    field: 'x-original-method',
  });
  expect((await ask('/v1/authorize?proxy=apache', forwarded)).json).toMatchObject({ status: 400, field: 'proxy' });
});

test('whatever stands in the headers, the answer is one of the table', async () => {
  const text = fc.oneof(
    fc.constantFrom(
      'GET',
      'get',
      '',
      '/a/1',
      '/a/%',
      '//',
      '/a/..;/1',
      '/\u00e9',
      'http://a/',
      '*',
      '/a/1#x',
      'a, b',
      '[::1]:80',
      '::',
    ),
    fc.string({ unit: 'binary-ascii', maxLength: 30 }).map((each) => each.replace(/[^\x20-\x7e]/g, '')),
  );
  const names = [
    ...Object.keys(forwarded),
    'x-forwarded-for',
    'cookie',
    'authorization',
    'origin',
    'access-control-request-method',
  ];
  const headers = fc.dictionary(fc.constantFrom(...names), text);
  await fc.assert(
    fc.asyncProperty(headers, fc.boolean(), async (given, isBare) => {
      const { status } = await ask('/v1/authorize', isBare ? given : { ...forwarded, ...given });
      expect([200, 400, 429]).toContain(status);
    }),
    { numRuns: 100 },
  );
  expect(api.running.lines).toEqual([]);
});
