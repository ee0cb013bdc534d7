import { type ComportaError, slidingWindow } from 'comporta';
import type { Policy } from 'comporta/http';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compilePolicies } from '../../../packages/comporta/src/policies/compile.js';
import { Target } from '../../../packages/comporta/src/policies/match.js';
import { pathSegments } from '../../../packages/comporta/src/policies/path.js';
import { view } from '../identity/view.js';

const reports: ComportaError[] = [];
const context = { clientOf: () => undefined, report: (error: ComportaError) => reports.push(error) };
const limits = slidingWindow({ limit: 5, window: '10s' });
const base: Policy = { name: 'p', limits };

/** The subject when the policy applies to a request. */
function subject(policy: Partial<Policy>, request: Parameters<typeof view>[0]): string | undefined {
  const [compiled] = compilePolicies([{ ...base, key: 'global', ...policy }], context);
  const params = compiled?.match(new Target(view(request)));
  return params === undefined ? undefined : compiled?.subjectOf(view(request), params);
}

const applies = (match: Policy['match'], request: Parameters<typeof view>[0]): boolean =>
  subject(match === undefined ? {} : { match }, request) !== undefined;

const spellings = ['/a//b', '/A/b', '/a/b/', '/a/%62', '/a/./b', '/a/x/../b', '/a/b;v=1', '/a/b?y=2&x=1'];

test.each([
  ...spellings,
  '/a/b',
  '/a;x/b',
  '/%61/%2e/b',
  '/a/%2E%2e/a/b',
  '//a/b',
  '/a/b#c',
  'http://host:1/a/b',
  '/../a/b',
])('%s is the path /a/b', (url) => {
  expect(applies({ path: '/a/b' }, { url })).toBe(true);
  expect(subject({ match: { path: '/a/:id' }, key: 'path:id' }, { url })).toBe('path.id=b');
});

test.each(['/a', '/a/b/c', '/a/c', '/ab', '/', '*', ''])('%j is another path', (url) => {
  expect(applies({ path: '/a/b' }, { url })).toBe(false);
});

test('paths that need nothing done are taken as they are, others end in the same form', () => {
  const segment = fc.stringMatching(/^[a-zA-Z0-9.%;/~_@ é-]{0,8}$/);
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 6 }), (parts) => {
      const segments = pathSegments(`/${parts.join('/')}`);
      expect(pathSegments(`/${segments.map(encodeURIComponent).join('/')}`)).toEqual(segments);
      for (const text of segments) expect(['', '.', '..']).not.toContain(text);
    }),
  );
});

test('a pattern with /* takes its own path and everything below', () => {
  for (const url of ['/api', '/api/', '/api/x', '/API/x/y']) expect(applies({ path: '/api/*' }, { url })).toBe(true);
  for (const url of ['/', '/apis', '/x/api/y']) expect(applies({ path: '/api/*' }, { url })).toBe(false);
  for (const url of ['/', '/x/y', '*']) expect(applies({ path: '/*' }, { url })).toBe(true);
  expect(applies({ path: '/' }, { url: '/' })).toBe(true);
  expect(applies({ path: '/' }, { url: '/x' })).toBe(false);
});

test('a parameter is one segment, whole, whatever its name', () => {
  const policy: Partial<Policy> = { match: { path: '/u/:__proto__/x' }, key: 'path:__proto__' };
  expect(subject(policy, { url: '/u/a%2Fb/x' })).toBe('path.__proto__=a/b');
  expect(subject(policy, { url: '/u/x' })).toBeUndefined();
});

test('a list of patterns matches when one does, a route by its template', () => {
  expect(applies({ path: ['/x', '/y/*'] }, { url: '/y/1' })).toBe(true);
  expect(applies({ path: '/Users/:id' }, { url: '/rewritten', route: '/users/:id/' })).toBe(true);
  expect(applies({ path: '/users/:id' }, { url: '/rewritten', route: '/users/:name' })).toBe(false);
});

test('GET includes HEAD, and other methods only themselves', () => {
  expect(['GET', 'HEAD', 'POST'].map((method) => applies({ methods: ['GET'] }, { method }))).toEqual([
    true,
    true,
    false,
  ]);
  expect(['GET', 'HEAD', 'POST'].map((method) => applies({ methods: ['POST'] }, { method }))).toEqual([
    false,
    false,
    true,
  ]);
});

test('hosts are compared without port, case and trailing dot', () => {
  const host = (value: string) =>
    applies({ hosts: ['example.com', '*.example.org', '[::1]'] }, { headers: { host: value } });
  for (const value of [
    'example.com',
    'EXAMPLE.com:8080',
    'example.com.',
    'a.example.org',
    'a.b.example.org',
    '[::1]:80',
  ]) {
    expect(host(value)).toBe(true);
  }
  for (const value of ['example.org', 'notexample.com', 'xexample.org', 'a.example.com', '', '.example.org']) {
    expect(host(value)).toBe(false);
  }
});

test('all parts of a match must hold', () => {
  const match = { path: '/a', methods: ['POST'], hosts: ['h'] };
  const headers = { host: 'h' };
  expect(applies(match, { method: 'POST', url: '/a', headers })).toBe(true);
  for (const other of [{ method: 'PUT' }, { url: '/b' }, { headers: { host: 'i' } }]) {
    expect(applies(match, { method: 'POST', url: '/a', headers, ...other })).toBe(false);
  }
});

const refused: readonly (readonly [Record<string, unknown>, string, string])[] = [
  [{ name: 'a b' }, 'ERR_POLICY', 'name'],
  [{ name: undefined }, 'ERR_POLICY', 'name'],
  [{ limits: undefined }, 'ERR_POLICY', 'limits'],
  [{ limit: 5 }, 'ERR_POLICY', 'limit'],
  [{ shadow: 'yes' }, 'ERR_POLICY', 'shadow'],
  [{ match: '/api' }, 'ERR_POLICY', 'match'],
  [{ match: { paths: ['/a'] } }, 'ERR_POLICY', 'match.paths'],
  [{ match: { path: [] } }, 'ERR_POLICY', 'match.path'],
  [{ match: { path: 'api' } }, 'ERR_POLICY', 'match.path'],
  [{ match: { path: ['/a', '/a/*/b'] } }, 'ERR_POLICY', 'match.path[1]'],
  [{ match: { path: '/a*' } }, 'ERR_POLICY', 'match.path'],
  [{ match: { path: '/a//b' } }, 'ERR_POLICY', 'match.path'],
  [{ match: { path: '/a/../b' } }, 'ERR_POLICY', 'match.path'],
  [{ match: { path: '/a?x=1' } }, 'ERR_POLICY', 'match.path'],
  [{ match: { path: '/:id-x' } }, 'ERR_POLICY', 'match.path'],
  [{ match: { path: '/:id/:id' } }, 'ERR_POLICY', 'match.path'],
  [{ match: { methods: [] } }, 'ERR_POLICY', 'match.methods'],
  [{ match: { methods: ['get'] } }, 'ERR_POLICY', 'match.methods[0]'],
  [{ match: { methods: 'GET' } }, 'ERR_POLICY', 'match.methods'],
  [{ match: { hosts: [] } }, 'ERR_POLICY', 'match.hosts'],
  [{ match: { hosts: ['a', 'example.com:80'] } }, 'ERR_POLICY', 'match.hosts[1]'],
  [{ match: { hosts: ['a.*'] } }, 'ERR_POLICY', 'match.hosts[0]'],
  [{ key: 'user' }, 'ERR_KEY', 'key'],
  [{ key: 'path:id' }, 'ERR_KEY', 'key'],
  [{ key: ['ip', 'path:id'], match: { path: ['/a/:id', '/b'] } }, 'ERR_KEY', 'key'],
  [{ cost: -1 }, 'ERR_COST', 'cost'],
  [{ cost: 1.5 }, 'ERR_COST', 'cost'],
  [{ cost: '2' }, 'ERR_COST', 'cost'],
];

test.each(refused)('a policy with %j is refused with %s and the field %s', (fields, code, field) => {
  const policies = [{ ...base, name: 'first' }, { ...base, ...fields } as Policy];
  expect(() => compilePolicies(policies, context)).toThrow(
    expect.objectContaining({ code, field: `policies[1].${field}` }),
  );
});

test('a name used twice and an empty list are refused', () => {
  expect(() => compilePolicies([base, { ...base }], context)).toThrow(
    expect.objectContaining({ field: 'policies[1].name' }),
  );
  expect(() => compilePolicies([], context)).toThrow(expect.objectContaining({ field: 'policies' }));
  expect(() => compilePolicies(undefined as unknown as Policy[], context)).toThrow(
    expect.objectContaining({ field: 'policies' }),
  );
  expect(() => compilePolicies([null as unknown as Policy], context)).toThrow(
    expect.objectContaining({ field: 'policies[0]' }),
  );
});

test.each([Number.NaN, -1, 1.5, 2 ** 53, '3', undefined, null])(
  'a cost function that returns %s is reported and costs 1',
  (value) => {
    reports.length = 0;
    const [compiled] = compilePolicies([{ ...base, cost: () => value as number }], context);
    expect(compiled?.costOf(view(), undefined)).toBe(1);
    expect(reports.map(({ code, field }) => [code, field])).toEqual([['ERR_COST', 'policies[0].cost']]);
  },
);

test('a cost function that throws is reported and costs 1', () => {
  reports.length = 0;
  const fail = () => {
    throw new Error('no body');
  };
  const [compiled] = compilePolicies([{ ...base, cost: fail }], context);
  expect(compiled?.costOf(view(), undefined)).toBe(1);
  expect(reports[0]?.message).toContain('no body');
});

test('the caller’s own cost comes before the policy’s', () => {
  const [compiled] = compilePolicies([{ ...base, cost: 3 }], context);
  expect([compiled?.costOf(view(), undefined), compiled?.costOf(view(), 7), compiled?.costOf(view(), 0)]).toEqual([
    3, 7, 0,
  ]);
});
