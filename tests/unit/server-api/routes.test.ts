import { describe, expect, test } from 'vitest';
import { outcomesOf, type Route } from '../../../packages/server/src/api/route.js';
import { routes } from '../../../packages/server/src/api/routes.js';
import { type Answer, type Ask, STORE_TOKEN, TOKEN } from '../../e2e/api-support.js';
import { envoy, keptApi } from './kept-api.js';

const SECRET = 'a-wrong-token-that-nobody-may-see';
const MAX_BYTES = 2048;

const api = keptApi(
  { maxBodyBytes: MAX_BYTES, store: { tokens: STORE_TOKEN }, authorize: true },
  { trustedProxies: ['loopback'], envoy },
);

const bare = keptApi({}, { trustedProxies: ['loopback'] });

const pathOf = ({ path }: Route): string => path.replace('{policy}', 'per-key');
const tokenOf = ({ access }: Route): string | undefined =>
  ({ token: TOKEN, 'store-token': STORE_TOKEN, anybody: undefined, proxy: undefined })[access];

/** A request that would be answered, to be spoilt in one place. */
function good(route: Route): Ask & { readonly headers: Record<string, string> } {
  const token = tokenOf(route);
  return {
    method: route.method ?? 'GET',
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(route.body !== undefined && { 'content-type': 'application/json' }),
      ...(route.access === 'proxy' && {
        'x-forwarded-method': 'GET',
        'x-forwarded-uri': '/a',
        'x-forwarded-host': 'a.example',
      }),
    },
    ...(route.body !== undefined && { body: JSON.stringify(route.example) }),
  };
}

function expectProblem(route: Route, answer: Answer, status: number, field?: string): void {
  expect(answer).toMatchObject({ status, json: { type: 'about:blank', status } });
  expect(answer.headers['content-type']).toBe('application/problem+json');
  expect(answer.headers['cache-control']).toBe('no-store');
  expect(answer.json?.detail).toEqual(expect.stringMatching(/\S/));
  if (field !== undefined) expect(answer.json?.field).toBe(field);
  expect(outcomesOf(route)).toHaveProperty(String(status));
}

const named = (list: readonly Route[]): readonly (readonly [string, Route])[] =>
  list.map((route) => [route.path, route]);
const withBody = named(routes.filter(({ body }) => body !== undefined));

describe.each(named(routes))('%s', (_, route) => {
  test('answers what fits with a status of its table, in the form of its table', async () => {
    const answer = await api.running.ask(pathOf(route), good(route));
    const outcome = outcomesOf(route)[answer.status];
    expect(outcome, `status ${answer.status}`).toBeDefined();
    // Only the library knows what its store is asked.
    expect(answer.status).toBe(route.path === '/v1/store' ? 400 : 200);
    if (outcome?.schema !== undefined) expect(outcome.schema.safeParse(answer.json).error).toBeUndefined();
  });
});

describe.each(named(routes.filter(({ method }) => method !== undefined)))('%s', (_, route) => {
  test('answers other methods with 405 and the right one', async () => {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'].filter((each) => each !== route.method)) {
      const { body: _, ...asked } = good(route);
      const answer = await api.running.ask(pathOf(route), { ...asked, method });
      expectProblem(route, answer, 405);
      expect(answer.headers.allow).toContain(route.method);
    }
  });
});

describe.each(named(routes.filter((route) => tokenOf(route) !== undefined)))('%s', (_, route) => {
  test('answers without a token that is taken with 401, and tells no token', async () => {
    const { authorization: _, ...headers } = good(route).headers;
    const other = route.access === 'token' ? STORE_TOKEN : TOKEN;
    for (const given of [undefined, `Bearer ${SECRET}`, `Bearer ${other}`, `Basic ${SECRET}`, SECRET, 'Bearer', '']) {
      const shown = given === undefined ? headers : { ...headers, authorization: given };
      const answer = await api.running.ask(pathOf(route), { ...good(route), headers: shown });
      expectProblem(route, answer, 401);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
      for (const secret of [SECRET, TOKEN, STORE_TOKEN]) expect(answer.text).not.toContain(secret);
    }
    expect(api.running.lines.join('\n')).not.toMatch(new RegExp(`${SECRET}|${TOKEN}|${STORE_TOKEN}`));
  });
});

test('every path but those of proxies, of health and of the document needs a token', () => {
  const open = routes.filter((route) => tokenOf(route) === undefined).map(({ path }) => path);
  expect(open).toEqual(['/v1/authorize', '/v1/authorize/{policy}', '/livez', '/readyz', '/openapi.json']);
});

describe.each(named(routes.filter(({ access }) => access === 'proxy')))('%s', (_, route) => {
  test('answers what does not tell the request with 400 and the header', async () => {
    for (const name of ['x-forwarded-method', 'x-forwarded-uri', 'x-forwarded-host']) {
      const { [name]: _, ...headers } = good(route).headers;
      expectProblem(route, await api.running.ask(pathOf(route), { headers }), 400, name);
      const twice = { ...headers, [name]: ['/a', '/b'] };
      expectProblem(route, await api.running.ask(pathOf(route), { headers: twice }), 400, name);
    }
  });
});

describe.each(withBody)('%s, its body', (_, route) => {
  test.each([
    ['nothing', '', ''],
    ['no JSON', '{"policy": ', ''],
    ['a list', '[]', ''],
    ['null', 'null', ''],
    ['a number', '1', ''],
    ['a text', '"text"', ''],
    ['bytes that are no UTF-8', Uint8Array.of(0x22, 0xff, 0x22), ''],
    ['lists in lists', `${'['.repeat(900)}${']'.repeat(900)}`, ''],
    ['an unknown field', JSON.stringify({ ...(route.example as object), polcy: 'x' }), 'polcy'],
    ['the name of a prototype', `{"__proto__": {}, ${JSON.stringify(route.example).slice(1)}`, '__proto__'],
  ])('%s is answered with 400 and the field', async (_what, body, field) => {
    expectProblem(route, await api.running.ask(pathOf(route), { ...good(route), body }), 400, field);
  });

  test('in another form or compressed it is answered with 415', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', '']) {
      const headers = { ...good(route).headers, 'content-type': type };
      expectProblem(route, await api.running.ask(pathOf(route), { ...good(route), headers }), 415);
    }
    const headers = { ...good(route).headers, 'content-encoding': 'gzip' };
    expectProblem(route, await api.running.ask(pathOf(route), { ...good(route), headers }), 415);
  });

  test('beyond the bound it is answered with 413, with its length told or not', async () => {
    const body = JSON.stringify({ policy: 'x'.repeat(MAX_BYTES) });
    for (const isChunked of [false, true]) {
      expectProblem(route, await api.running.ask(pathOf(route), { ...good(route), body, isChunked }), 413);
    }
  });

  test('with a policy that does not exist it is answered with 404 and the nearest', async () => {
    if (!JSON.stringify(route.example).includes('"per-key"')) return;
    const body = JSON.stringify(route.example).replaceAll('"per-key"', '"per-kye"');
    const answer = await api.running.ask(pathOf(route), { ...good(route), body });
    expectProblem(route, answer, 404);
    expect(answer.json).toMatchObject({
      detail: expect.stringContaining('"per-key"'),
      field: expect.stringMatching(/policy$/),
    });
  });
});

test('what the configuration does not have is answered with 404', async () => {
  for (const path of ['/json', '/v1/store', '/v1/authorize', '/v1/authorize/{policy}']) {
    const route = routes.find((each) => each.path === path) as Route;
    const answer = await bare.running.ask(pathOf(route), {
      ...good(route),
      headers: { ...good(route).headers, authorization: `Bearer ${TOKEN}` },
    });
    expectProblem(route, answer, 404);
  }
});

test('a path that does not exist is answered with 404, also the start or the form of another', async () => {
  for (const path of [
    '/',
    '/v1',
    '/v1/consume/',
    '/v1/consume/x',
    '/V1/CONSUME',
    '/v1/authorize/{policy}',
    '/v1/authorize/',
    '/v1/authorize/a/b',
    '/%',
    '/v1/authorize/%E0%A4%A',
    '/__proto__',
    '//v1/consume',
  ]) {
    const answer = await api.running.ask(path, {
      headers: good(routes.find(({ access }) => access === 'proxy') as Route).headers,
    });
    expect([path, answer.status]).toEqual([path, 404]);
    expect(answer.headers['content-type']).toBe('application/problem+json');
  }
});

test('health answers HEAD as GET, without a body', async () => {
  for (const path of ['/livez', '/readyz']) {
    expect(await api.running.ask(path, { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
    expect(await api.running.ask(path)).toMatchObject({ status: 200, text: '{"status":"pass"}\n' });
  }
});
