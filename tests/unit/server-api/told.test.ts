import { expect, onTestFinished, test } from 'vitest';
import { wordsOf, wordsOfDecisions } from '../../../packages/server/src/access-log/entry.js';
import { startApp } from '../../../packages/server/src/app.js';
import { type Ask, apiFile, ask, TOKEN } from '../../e2e/api-support.js';
import { configOf, recordLog } from '../../e2e/gateway-support.js';
import { envoy } from './kept-api.js';

const once = { fixedWindow: { limit: 1, window: '1d', align: 'first-hit' } };
const policies = [
  { name: 'per-key', key: 'header:x-api-key', limits: once },
  { name: 'tried-out', key: 'global', limits: once, shadow: true },
];

/** An API of its own, what it answers, and the lines of its access log at the end. */
async function started() {
  let text = '';
  const rest = { policies, envoy, trustedProxies: ['loopback'], accessLog: { client: 'none', path: false } };
  const app = await startApp(configOf(apiFile({ authorize: true }, rest)), recordLog().log, (lines) => {
    text += lines;
  });
  onTestFinished(() => app.stop());
  const port = app.api?.port ?? 0;
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const post = (path: string, body: unknown) =>
    ask(port, path, { method: 'POST', headers, body: JSON.stringify(body) });
  const get = (path: string, asked: Ask = {}) => ask(port, path, { headers, ...asked });
  const lines = async (): Promise<readonly object[]> => {
    await app.stop();
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
  };
  return { post, get, lines };
}

const said = (line: object | undefined) =>
  Object.fromEntries(
    Object.entries(line ?? {}).filter(([name]) => ['route', 'outcome', 'policy', 'shadow', 'degraded'].includes(name)),
  );

test('the access log says of each decision who made it and how it ended', async () => {
  const { post, get, lines } = await started();
  const asked = { policy: 'per-key', subject: 'a' };
  for (let i = 0; i < 2; i++) await post('/v1/consume', asked);
  await post('/v1/consume', { policy: 'nobody', subject: 'a' });
  await post('/v1/consume-batch', { checks: [asked, { ...asked, subject: 'b' }] });
  const fields = { 'x-forwarded-method': 'GET', 'x-forwarded-uri': '/', 'x-forwarded-host': 'a', 'x-api-key': 'k' };
  for (let i = 0; i < 2; i++) await get('/v1/authorize', { headers: fields });
  const limit = { requestsPerUnit: 1, unit: 'HOUR' };
  const descriptors = [{ entries: [{ key: 'generic_key', value: 'v2' }], limit }];
  for (const domain of ['apis', 'apis', 'else']) await post('/json', { domain, descriptors });
  expect((await lines()).map(said)).toEqual([
    { route: '/v1/consume', outcome: 'allowed', policy: 'per-key' },
    { route: '/v1/consume', outcome: 'denied', policy: 'per-key' },
    { route: '/v1/consume' },
    { route: '/v1/consume-batch', outcome: 'denied', policy: 'per-key' },
    { route: '/v1/authorize', outcome: 'allowed', policy: 'per-key,tried-out' },
    { route: '/v1/authorize', outcome: 'denied', policy: 'per-key', shadow: 'tried-out' },
    { route: '/json', outcome: 'allowed', policy: 'rls.apis' },
    { route: '/json', outcome: 'denied', policy: 'rls.apis' },
    { route: '/json', outcome: 'allowed' },
  ]);
});

test('requests of /json are counted as those of the rate limit service', async () => {
  const { post, get } = await started();
  const descriptors = [{ entries: [{ key: 'generic_key', value: 'v1' }] }];
  for (const domain of ['apis', 'else', '']) await post('/json', { domain, descriptors });
  const { text } = await get('/metrics');
  for (const answer of ['ok', 'unknown_domain', 'invalid_argument']) {
    expect(text).toContain(`comporta_rls_requests_total{answer="${answer}"} 1\n`);
  }
  expect(text).toContain('comporta_rls_hits_total{kind="total",rule="apis.generic_key_v1"} 1\n');
  expect(text).toContain('comporta_rls_request_duration_seconds_count 3\n');
});

test('an empty subject is answered with what a text must be', async () => {
  const { post } = await started();
  expect((await post('/v1/consume', { policy: 'per-key', subject: '' })).json).toMatchObject({
    status: 400,
    detail: 'subject: expected text of at least 1 character, got ""',
  });
});

const degraded = { mode: 'closed', cause: 'timeout', detail: '' };
const decision = (more: object) =>
  ({ policy: 'p', allowed: true, ...more }) as Parameters<typeof wordsOfDecisions>[0][0];

test('words tell outages from refusals, and who admitted where nobody is enforced', () => {
  const away = decision({ allowed: false, reason: 'store-unavailable', degraded });
  expect(wordsOfDecisions([away], false)).toEqual({ outcome: 'error', policy: 'p', degraded: 'closed:timeout' });
  const full = decision({ policy: 'q', allowed: false, reason: 'limit-exceeded' });
  expect(wordsOfDecisions([away, full], false)).toMatchObject({ outcome: 'denied', policy: 'p,q' });
  const passed = { allowed: true, status: 0, deniedBy: [] };
  const only = decision({});
  expect(wordsOf({ ...passed, decisions: [only], shadowed: [only] })).toEqual({ outcome: 'allowed', policy: 'p' });
  expect(wordsOf({ ...passed, decisions: [full], shadowed: [full] })).toEqual({ outcome: 'allowed', shadow: 'q' });
  expect(wordsOf({ ...passed, decisions: [], shadowed: [] })).toBeUndefined();
});
