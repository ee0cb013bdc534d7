import { slidingWindow } from 'comporta';
import type { Policy } from 'comporta/http';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compilePolicies } from '../../../packages/comporta/src/policies/compile.js';
import { Target } from '../../../packages/comporta/src/policies/match.js';
import { pathReadings } from '../../../packages/comporta/src/policies/readings.js';
import { cpuMsOf } from '../../support/cpu.js';
import { view } from '../identity/view.js';

const context = { clientOf: () => undefined, report: () => undefined };
const limits = slidingWindow({ limit: 5, window: '10s' });

/** The subject when the policy applies to a target. */
function subject(path: string, url: string, key: Policy['key'] = 'global'): string | undefined {
  const [compiled] = compilePolicies([{ name: 'p', limits, key, match: { path } }], context);
  const params = compiled?.match(new Target(view({ url })));
  return params === undefined ? undefined : compiled?.subjectOf(view({ url }), params);
}

const applies = (path: string, url: string): boolean => subject(path, url) !== undefined;

test.each([
  '/api//../x',
  '/api/;/../x',
  '/api/./../api//../x',
  '/x/\\..\\api/x',
  '/x\\..\\api/x',
  '/.\\api/x',
  '/\\h/api/x',
  '/api\\x',
  '/api/..;/x',
  '/api/%2e%2e;/x',
  '/api/../x',
  '/api/%2e%2e/x',
  '//h/api/x',
  '///h/api/x',
  'http://h@x/api/../x',
  'http://h@x\\api/x',
  'http:/api/x',
  'x:/api/x',
  '/api%2fx',
  '/api%5cx',
  '/x/..%2fapi/x',
  '/api;/y',
  '/x;/../api/y',
  '/x#/../../api/y',
])('some router takes %s for a path below /api', (url) => {
  expect(applies('/api/*', url)).toBe(true);
});

test.each(['/x', '/apis/x', '/x/api', '/x%20y', '/é;v=1', 'http://api/x', '/.well-known/api', '/x?/../api/x'])(
  'no router takes %s for a path below /api',
  (url) => expect(applies('/api/*', url)).toBe(false),
);

const piece = fc.constantFrom(
  ...[
    '/',
    '\\',
    '.',
    '..',
    ';',
    '%2e',
    '%2E%2e',
    '%2f',
    '%5C',
    'api',
    'API',
    '%61pi',
    'x',
    'h',
    '@',
    ':',
    '//',
    '/api',
  ],
);

/** Where frameworks look for `/api`, as Express does for a mounted handler. */
function isBelowApi(path: string): boolean {
  return /^\/api(?:\/|$)/i.test(path);
}

test('what the URL standard or a prefix router hands to the handler of /api, its policy matches', () => {
  const targets = fc.array(piece, { minLength: 1, maxLength: 10 }).map((pieces) => `/${pieces.join('')}`);
  let met = 0;
  fc.assert(
    fc.property(targets, (target) => {
      const paths = [target, target.replaceAll('\\', '/'), target.replace(/;[^/]*/g, '')];
      for (const base of ['http://base', 'https://base']) {
        if (URL.canParse(target, base)) paths.push(new URL(target, base).pathname);
      }
      if (!paths.some(isBelowApi)) return;
      met++;
      expect(applies('/api/*', target)).toBe(true);
    }),
    { numRuns: 20_000 },
  );
  expect(met).toBeGreaterThan(500);
});

test('a parameter is that of the normal form, and nobody where a crooked path has two', () => {
  const id = (url: string, path = '/users/:id/*') => subject(path, url, 'path:id');
  for (const url of ['/users/42', '/users/42;v=1', '/users//42', '/users/./42/x', '/Users/%34%32'])
    expect(id(url)).toBe('path.id=42');
  expect(id('/users/a%2Fb')).toBe('path.id=a/b');
  expect(id('/x/..;/users/42', '/users/:id')).toBe('path.id=42');
  const crooked = [1, 2, 3].map((n) => id(`/users/42//../${n}`));
  expect(new Set(crooked).size).toBe(1);
  expect(new Set([1, 2, 3].map((n) => subject('/:id/*', `//${n}/acme/x`, 'path:id'))).size).toBe(1);
});

test('a plain path has one reading; a tangled one is matched by every pattern, at once', () => {
  for (const url of ['/a/b', '/A/b/', 'https://h:1/a/b']) expect(pathReadings(url).others).toHaveLength(0);
  const tangled = '/;\\%2f../x%2e'.repeat(1200);
  expect(applies('/api/*', tangled)).toBe(true);
  let turn = 0;
  expect(cpuMsOf(() => applies('/api/*', `${tangled}${turn++}`))).toBeLessThan(50);
});
