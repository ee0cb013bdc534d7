import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type RunningApi, startApi } from './api-support.js';
import { makeFolder } from './cli-support.js';

const domains = `
domain: apis
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: 3, name: per-user }
  - key: free
    rate_limit: { unlimited: true }
`;

async function start(rest: object = {}, envoy: object = {}): Promise<RunningApi> {
  const file = join(makeFolder(), 'domains.yaml');
  writeFileSync(file, domains);
  return startApi(
    {},
    { policies: [], envoy: { listen: '127.0.0.1:0', config: file, drainDelay: 0, ...envoy }, ...rest },
  );
}

const asked = (key: string, value: string, more: object = {}) => ({
  domain: 'apis',
  descriptors: [{ entries: [{ key, value }], ...more }],
});

it('answers as ShouldRateLimit does, in the JSON form of its messages: 200, then 429', async () => {
  const { post } = await start();
  const status = (code: string, left: object) => ({
    code,
    currentLimit: { name: 'per-user', requestsPerUnit: 3, unit: 'DAY' },
    ...left,
    durationUntilReset: expect.stringMatching(/^\d+s$/),
  });
  for (const left of [{ limitRemaining: 2 }, { limitRemaining: 1 }, {}]) {
    const { status: code, json } = await post('/json', asked('user', 'a'));
    expect([code, json]).toEqual([200, { overallCode: 'OK', statuses: [status('OK', left)] }]);
  }
  const refused = await post('/json', asked('user', 'a'));
  expect([refused.status, refused.json]).toEqual([
    429,
    { overallCode: 'OVER_LIMIT', statuses: [status('OVER_LIMIT', {})] },
  ]);
  expect(refused.headers['content-type']).toBe('application/json');
});

it('takes names in both spellings, numbers as texts, and what replaces a limit', async () => {
  const { post } = await start();
  const left = async (request: object) => {
    const { status, text } = await post('/json', request);
    return [status, JSON.parse(text).statuses[0].limitRemaining];
  };
  expect(await left({ ...asked('user', 'b'), hitsAddend: 2 })).toEqual([200, 1]);
  expect(await left({ ...asked('user', 'c'), hits_addend: '2' })).toEqual([200, 1]);
  expect(await left(asked('user', 'd', { hitsAddend: '3' }))).toEqual([200, undefined]);
  expect(await left(asked('user', 'e', { limit: { requestsPerUnit: 7, unit: 'HOUR' } }))).toEqual([200, 6]);
  expect(await left(asked('user', 'f', { limit: { requests_per_unit: '7', unit: 3 } }))).toEqual([200, 6]);
  expect(await left(asked('user', 'g', { hits_addend: 0 }))).toEqual([200, 3]);
  expect(await left(asked('free', 'h'))).toEqual([200, 2 ** 32 - 1]);
  expect((await post('/json', { ...asked('user', 'i'), domain: 'unknown' })).json).toEqual({
    overallCode: 'OK',
    statuses: [{ code: 'OK' }],
  });
});

it.each([
  ['domain', { descriptors: [{ entries: [{ key: 'user', value: 'a' }] }] }],
  ['descriptors', { domain: 'apis' }],
  ['descriptors[0].entries[0].key', asked('', 'a')],
  ['descriptors[0].limit.unit', asked('user', 'a', { limit: { requestsPerUnit: 1 } })],
  ['descriptors[0].limit.unit', asked('user', 'a', { limit: { requestsPerUnit: 1, unit: 'UNKNOWN' } })],
  ['hitsAddend', { ...asked('user', 'a'), hitsAddend: 2 ** 32 }],
  ['descriptors[0].entry', { domain: 'apis', descriptors: [{ entry: [] }] }],
])('names what cannot be meant: %s', async (field, request) => {
  const { post } = await start();
  expect(await post('/json', request)).toMatchObject({ status: 400, json: { status: 400, field } });
});

it('a store that cannot decide is 503 where its rules refuse then, and nothing else', async () => {
  const away = { store: 'redis://127.0.0.1:1' };
  const closed = await start(away, { onStoreFailure: 'closed' });
  const refused = await closed.post('/json', asked('user', 'a'));
  expect(refused).toMatchObject({ status: 503, json: { status: 503 }, headers: { 'retry-after': '1' } });
  const open = await start(away, { onStoreFailure: 'open' });
  expect(await open.post('/json', asked('user', 'a'))).toMatchObject({ status: 200, json: { overallCode: 'OK' } });
});
