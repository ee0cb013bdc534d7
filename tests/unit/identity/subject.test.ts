import type { ComportaError } from 'comporta';
import type { Key, RequestView } from 'comporta/http';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createClientOf } from '../../../packages/comporta/src/identity/client-name.js';
import { ANONYMOUS, compileKey } from '../../../packages/comporta/src/identity/subject.js';
import { view } from './view.js';

const reports: ComportaError[] = [];
const clientOf = createClientOf();
const context = {
  field: 'policies[0].key',
  clientIp: (request: RequestView) => clientOf(request)?.name,
  report: (error: ComportaError) => reports.push(error),
};
const params = new Map([['id', 'b']]);
const subjectOf = (key: Key, request: RequestView = view()): string => compileKey(key, context)(request, params);

const token = (claims: unknown): string =>
  `Bearer e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;

test('every kind of source says in its subject what it is', () => {
  const request = view({
    url: '/a?key=q%201',
    headers: { 'x-api-key': 'k', cookie: 'a=1; sid="s%201"', authorization: token({ sub: 'joão', n: 7 }) },
  });
  expect(subjectOf('ip', request)).toBe('ip=203.0.113.9');
  expect(subjectOf('header:X-Api-Key', request)).toBe('header.x-api-key=k');
  expect(subjectOf('cookie:sid', request)).toBe('cookie.sid=s 1');
  expect(subjectOf('jwt:sub', request)).toBe('jwt.sub=joão');
  expect(subjectOf('jwt:n', request)).toBe('jwt.n=7');
  expect(subjectOf('query:key', request)).toBe('query.key=q 1');
  expect(subjectOf('path:id', request)).toBe('path.id=b');
  expect(subjectOf('global', request)).toBe('global');
  expect(subjectOf(() => 21)).toBe('key=21');
});

test('a user who is called like an address is not that address', () => {
  const request = view({ peer: '127.0.0.1', headers: { 'x-user': '127.0.0.1' } });
  const subjects = [subjectOf('ip', request), subjectOf('header:x-user', request), subjectOf(() => '127.0.0.1')];
  expect(new Set(subjects).size).toBe(3);
});

test('parts that could be joined alike stay apart', () => {
  const both = (a: string, b: string) => subjectOf(['header:a', 'header:b'], view({ headers: { a, b } }));
  expect(both('a:b', 'c')).not.toBe(both('a', 'b:c'));
  expect(both(',', 'c')).not.toBe(both('%2C', 'c'));
  expect(both('21', '1')).not.toBe(both('2', '11'));
  expect(both('x,header.b=y', 'z')).not.toBe(both('x', 'y,header.b=z'));
});

test('different parts never make the same subject, missing ones included', () => {
  const tricky = fc.string({ unit: fc.constantFrom('a', ',', '=', '%', '2', 'C', '5', '.'), maxLength: 8 });
  const part = fc.oneof(tricky, fc.string(), fc.constantFrom('', 'header.b=', 'a,header.b', 'anonymous', 'global'));
  const pair = fc.tuple(part, part);
  const compiled = compileKey(['header:a', 'header:b'], context);
  const subject = ([a, b]: readonly string[]) => compiled(view({ headers: { a: a ?? '', b: b ?? '' } }), params);
  fc.assert(
    fc.property(pair, pair, (one, other) => {
      expect(subject(one) === subject(other)).toBe(one[0] === other[0] && one[1] === other[1]);
    }),
    { numRuns: 3000 },
  );
});

test('a part that is missing leaves the others; without any the request is anonymous', () => {
  const key = ['ip', 'header:x-tenant'];
  expect(subjectOf(key, view({ headers: { 'x-tenant': 't' } }))).toBe('ip=203.0.113.9,header.x-tenant=t');
  expect(subjectOf(key)).toBe('ip=203.0.113.9,header.x-tenant');
  expect(subjectOf(key, view({ peer: undefined }))).toBe(ANONYMOUS);
});

test.each(['ip', 'header:x-user', 'cookie:sid', 'jwt:sub', 'query:key'])(
  'without %s a request is anonymous, never skipped',
  (key) => {
    for (const peer of [undefined, '', 'unknown', 'not an address']) {
      const headers = { 'x-user': '', cookie: 'sid=; other=1', authorization: 'Basic abc' };
      expect(subjectOf(key, view({ peer, url: '/?key=', headers }))).toBe(ANONYMOUS);
    }
  },
);

test('nobody becomes anonymous or everybody by choosing a value', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.constantFrom('anonymous', 'global', '=anonymous')), (value) => {
      fc.pre(value !== '');
      const request = view({ headers: { 'x-user': value } });
      for (const subject of [
        subjectOf('header:x-user', request),
        subjectOf(() => value),
        subjectOf(['header:x-user'], request),
      ]) {
        expect([ANONYMOUS, 'global']).not.toContain(subject);
      }
    }),
  );
});

test.each([
  ['undefined', undefined, 0],
  ['null', null, 0],
  ['an empty text', '', 1],
  ['NaN', Number.NaN, 1],
  ['infinity', Number.POSITIVE_INFINITY, 1],
  ['true', true, 1],
  ['an object', { id: 1 }, 1],
  ['a list', ['a'], 1],
  ['a promise', Promise.resolve('a'), 1],
])('a key function that returns %s makes an anonymous subject', (_, value, reported) => {
  reports.length = 0;
  expect(subjectOf(() => value)).toBe(ANONYMOUS);
  expect(reports.map(({ code, field }) => [code, field])).toEqual(
    new Array(reported).fill(['ERR_KEY', 'policies[0].key']),
  );
});

test('a key function that throws is reported, and the request is anonymous', () => {
  reports.length = 0;
  const fail = () => {
    throw new TypeError('no user');
  };
  expect(subjectOf(fail)).toBe(ANONYMOUS);
  expect(reports[0]?.message).toContain('no user');
});

test('one cookie or query value has one subject, however it is spelled', () => {
  const cookie = (line: string | readonly string[]) => subjectOf('cookie:sid', view({ headers: { cookie: line } }));
  for (const line of ['sid=ab', 'sid="ab"', 'x=1;sid=%61b ; y=2', 'sid=ab; sid=other', ['x=1', 'sid=ab']]) {
    expect(cookie(line)).toBe('cookie.sid=ab');
  }
  const query = (url: string) => subjectOf('query:k', view({ url }));
  for (const url of ['/?k=a+b', '/?k=a%20b', '/?x=1&k=a%20b#k=c', '/?%6B=a+b', '/?k=a+b&k=a%20b']) {
    expect(query(url)).toBe('query.k=a b');
  }
  expect(query('/?k=%zz')).toBe('query.k=%zz');
});

test('a query parameter given twice differently names nobody', () => {
  expect(subjectOf('query:k', view({ url: '/?k=mine&k=junk1' }))).toBe(ANONYMOUS);
});

test('tokens that cannot be read name nobody, and never throw', () => {
  const authorization = fc.oneof(
    fc.string(),
    fc.string().map((text) => `Bearer ${text}`),
    fc.json().map((json) => `bearer a.${Buffer.from(json).toString('base64url')}.b`),
    fc.base64String().map((text) => `Bearer a.${text}.b`),
  );
  fc.assert(
    fc.property(authorization, (value) => {
      expect(subjectOf('jwt:__proto__', view({ headers: { authorization: value } }))).toMatch(
        /^(anonymous$|jwt\.__proto__=)/,
      );
    }),
    { numRuns: 1000 },
  );
  for (const claims of [null, [], 'text', { sub: { a: 1 } }, { sub: '' }, { sub: true }, {}]) {
    expect(subjectOf('jwt:sub', view({ headers: { authorization: token(claims) } }))).toBe(ANONYMOUS);
  }
  const long = token({ sub: 'a', pad: 'x'.repeat(9000) });
  expect(subjectOf('jwt:sub', view({ headers: { authorization: long } }))).toBe(ANONYMOUS);
  expect(subjectOf('jwt:sub', view({ headers: { authorization: [token({ sub: 'a' }), token({ sub: 'b' })] } }))).toBe(
    ANONYMOUS,
  );
});

test.each([
  [[], 'policies[0].key'],
  [['ip', 'ip'], 'policies[0].key[1]'],
  [['header:A', 'header:a'], 'policies[0].key[1]'],
  [['ip', 'global'], 'policies[0].key[1]'],
  [new Array(9).fill('ip'), 'policies[0].key'],
  ['header:', 'policies[0].key'],
  ['header:x y', 'policies[0].key'],
  ['cookie:a;b', 'policies[0].key'],
  ['user', 'policies[0].key'],
  ['toString:x', 'policies[0].key'],
  ['', 'policies[0].key'],
  [5, 'policies[0].key'],
  [null, 'policies[0].key'],
  [[['ip']], 'policies[0].key[0]'],
])('the key %j is refused when it is configured', (key, field) => {
  expect(() => compileKey(key as Key, context)).toThrow(expect.objectContaining({ code: 'ERR_KEY', field }));
});
