import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AdminRoute, outcomesOf } from '../../../packages/server/src/admin/route.js';
import { adminRoutes } from '../../../packages/server/src/admin/routes.js';
import { startApp } from '../../../packages/server/src/app.js';
import { adminFile, OPERATE, READ, type RunningAdmin, runningAdmin } from '../../e2e/admin-support.js';
import type { Answer, Ask } from '../../e2e/api-support.js';
import { configOf, recordLog } from '../../e2e/gateway-support.js';

/** Its subject lives in several parts. */
const parted = {
  name: 'parted',
  key: 'global',
  limits: { fixedWindow: { limit: 100, window: '1d' } },
  split: { parts: 2 },
};

const SECRET = 'a-wrong-token-that-nobody-may-see';

let admin: RunningAdmin;
beforeAll(async () => {
  const { log, lines } = recordLog();
  const file = adminFile() as { readonly policies: readonly object[] };
  const policies = [...file.policies, parted];
  admin = runningAdmin(await startApp(configOf({ ...file, policies }), log), lines);
});
afterAll(() => admin.app.stop());

const pathOf = ({ path }: AdminRoute): string =>
  path.endsWith('{policy}') ? path.replace('{policy}', 'per-key?part=k1') : path;

/** A request that would be answered, to be spoilt in one place. */
function good(route: AdminRoute): Ask & { readonly headers: Record<string, string> } {
  const headers = { authorization: `Bearer ${route.role === 'read' ? READ : OPERATE}` };
  if (route.body === undefined) return { method: route.method, headers };
  const body = JSON.stringify(route.example);
  return { method: route.method, headers: { ...headers, 'content-type': 'application/json' }, body };
}

function expectProblem(route: AdminRoute, answer: Answer, status: number, field?: string): void {
  expect(answer).toMatchObject({ status, json: { type: 'about:blank', status } });
  expect(answer.headers['content-type']).toBe('application/problem+json');
  expect(answer.headers['cache-control']).toBe('no-store');
  expect(answer.json?.detail).toEqual(expect.stringMatching(/\S/));
  if (field !== undefined) expect(answer.json?.field).toBe(field);
  expect(outcomesOf(route)).toHaveProperty(String(status));
}

const named = (list: readonly AdminRoute[]): readonly (readonly [string, AdminRoute])[] =>
  list.map((route) => [`${route.method} ${route.path}`, route]);

describe.each(named(adminRoutes))('%s', (_, route) => {
  test('answers what fits with 200, in the form of its table, and lets no page of a browser read it', async () => {
    const { headers, ...asked } = good(route);
    const answer = await admin.ask(pathOf(route), { ...asked, headers: { ...headers, origin: 'https://a.example' } });
    expect(answer.status, answer.text).toBe(200);
    const { schema } = route.outcomes[200] ?? {};
    expect(schema).toBeDefined();
    expect(schema?.safeParse(answer.json).error).toBeUndefined();
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  test('answers without a token that is taken with 401, and tells no token', async () => {
    const { authorization: _, ...headers } = good(route).headers;
    for (const given of [undefined, `Bearer ${SECRET}`, `Basic ${OPERATE}`, OPERATE, 'Bearer', 'Bearer ', '']) {
      const shown = given === undefined ? headers : { ...headers, authorization: given };
      const answer = await admin.ask(pathOf(route), { ...good(route), headers: shown });
      expectProblem(route, answer, 401);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
      for (const secret of [SECRET, READ, OPERATE]) expect(answer.text).not.toContain(secret);
    }
    expect(admin.lines.join('\n')).not.toMatch(new RegExp(`${SECRET}|${READ}|${OPERATE}`));
  });

  test('takes the token of each role as its table says', async () => {
    const as = (token: string) => ({ ...good(route).headers, authorization: `Bearer ${token}` });
    const reader = await admin.ask(pathOf(route), { ...good(route), headers: as(READ) });
    if (route.role === 'operate') expectProblem(route, reader, 403);
    else expect(reader.status).toBe(200);
    expect((await admin.ask(pathOf(route), { ...good(route), headers: as(OPERATE) })).status).toBe(200);
  });

  test('answers other methods with 405 and the right ones', async () => {
    const { body: _, ...asked } = good(route);
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await admin.ask(pathOf(route), { ...asked, method });
      expectProblem(route, answer, 405);
      expect(answer.headers.allow).toContain(route.method);
    }
  });
});

describe.each(named(adminRoutes.filter(({ body }) => body !== undefined)))('%s, its body', (_, route) => {
  test.each([
    ['nothing', '', ''],
    ['no JSON', '{"policy": ', ''],
    ['a list', '[]', ''],
    ['bytes that are no UTF-8', Uint8Array.of(0x22, 0xff, 0x22), ''],
    ['an unknown field', JSON.stringify({ ...(route.example as object), polcy: 'x' }), 'polcy'],
    ['no subject', JSON.stringify({ ...(route.example as object), subject: undefined }), 'subject'],
    ['an empty subject', JSON.stringify({ ...(route.example as object), subject: '' }), 'subject'],
    ['too many parts', JSON.stringify({ ...(route.example as object), subject: ['a', 'b'] }), 'subject'],
    ['the name of a prototype', `{"__proto__": {}, ${JSON.stringify(route.example).slice(1)}`, '__proto__'],
  ])('%s is answered with 400 and the field', async (_what, body, field) => {
    expectProblem(route, await admin.ask(pathOf(route), { ...good(route), body }), 400, field);
  });

  test('in another form or compressed it is answered with 415', async () => {
    for (const more of [{ 'content-type': 'text/plain' }, { 'content-encoding': 'gzip' }]) {
      const headers = { ...good(route).headers, ...more };
      expectProblem(route, await admin.ask(pathOf(route), { ...good(route), headers }), 415);
    }
  });

  test('beyond the bound it is answered with 413, with its length told or not', async () => {
    const body = JSON.stringify({ policy: 'x'.repeat(65_536) });
    for (const isChunked of [false, true]) {
      expectProblem(route, await admin.ask(pathOf(route), { ...good(route), body, isChunked }), 413);
    }
  });

  test('with a policy that does not exist it is answered with 404 and the nearest', async () => {
    const body = JSON.stringify({ ...(route.example as object), policy: 'per-kye' });
    const answer = await admin.ask(pathOf(route), { ...good(route), body });
    expectProblem(route, answer, 404, 'policy');
    expect(answer.json?.detail).toContain('"per-key"');
  });

  test('with a policy that lacks what the operation needs it is answered with 409 and what to add', async () => {
    if (route.outcomes[409] === undefined) return;
    const body = JSON.stringify({ ...(route.example as object), policy: 'plain', subject: [] });
    const answer = await admin.ask(pathOf(route), { ...good(route), body });
    expectProblem(route, answer, 409, 'policy');
    expect(answer.json?.detail).toMatch(/(blocks|overrides): true/);
    const split = await admin.ask(pathOf(route), { ...good(route), body: body.replace('"plain"', '"parted"') });
    expectProblem(route, split, 409, 'policy');
    expect(split.json?.detail).toMatch(/has split, which cannot be combined with (blocks|overrides);/);
  });
});

test.each([
  ['/admin/top?by=luck', 400, 'by'],
  ['/admin/top?count=0', 400, 'count'],
  ['/admin/top?count=1001', 400, 'count'],
  ['/admin/top?count=1e2', 400, 'count'],
  ['/admin/top?policy=per-kye', 404, 'policy'],
  ['/admin/audit?count=-1', 400, 'count'],
  ['/admin/subjects/per-key', 400, 'subject'],
  ['/admin/subjects/per-key?subject=', 400, 'subject'],
  ['/admin/subjects/per-key?subject=a&subject=b', 400, 'subject'],
  ['/admin/subjects/per-key?subject=a&part=b', 400, 'subject'],
  ['/admin/subjects/per-key?part=a&part=b', 400, 'subject'],
  ['/admin/subjects/per-kye?subject=a', 404, 'policy'],
])('%s is answered with %i and the field %s', async (path, status, field) => {
  expect(await admin.get(path)).toMatchObject({ status, json: { status, field } });
});

test.each(['/', '/admin', '/admin/', '/admin/topp', '/admin/subjects', '/admin/subjects/', '/admin/subjects/a/b'])(
  '%s is nothing: 404 with a token, 401 without',
  async (path) => {
    expect((await admin.get(path)).status).toBe(404);
    expect((await admin.ask(path)).status).toBe(401);
  },
);

test('what is no target or no name is refused like anything else', async () => {
  for (const path of [
    '/admin/subjects/%E0%A4%A?subject=a',
    '//x/admin/top',
    '/admin/../admin/top',
    '/%',
    '/__proto__',
  ]) {
    expect([path, (await admin.get(path)).status]).toEqual([path, 404]);
  }
});

test('an override takes a plan or limits, and only what can be one', async () => {
  const asked = { policy: 'per-key', subject: ['o'], for: '1h' };
  const limits = { fixedWindow: { limit: 3, window: '1h' } };
  for (const body of [asked, { ...asked, plan: 'pro', limits }, { ...asked, plan: 'nope' }]) {
    expect((await admin.post('/admin/subjects/override', body)).status).toBe(400);
  }
  const faulty = { ...asked, limits: { fixedWindow: { limit: -1, window: '1h' } } };
  expect(await admin.post('/admin/subjects/override', faulty)).toMatchObject({
    status: 400,
    json: { field: 'limits.fixedWindow.limit' },
  });
  for (const lasts of ['soon', 0, '11y', undefined]) {
    const answer = await admin.post('/admin/subjects/override', { ...asked, for: lasts, plan: 'pro' });
    expect(answer).toMatchObject({ status: 400, json: { field: 'for' } });
  }
});
