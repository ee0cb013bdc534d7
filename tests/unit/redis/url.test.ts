import { parseStoreUrl, redisStore } from 'comporta/redis';
import { describe, expect, test } from 'vitest';

describe('a store URL that cannot be meant is refused without its password', () => {
  test.each([
    '',
    'localhost:6379',
    'http://127.0.0.1:6379',
    'redis://',
    'redis://127.0.0.1:0',
    'redis://127.0.0.1:99999',
    'redis://a:1,b:2',
    'redis://user:secret%zz@127.0.0.1:6379',
    'redis://user:se@cret@127.0.0.1:6379',
    'redis://user:se/cret@127.0.0.1:6379',
    'redis://127.0.0.1:6379/name',
    'redis-cluster://user:secret@127.0.0.1:7001/2',
    'redis-cluster://127.0.0.1:7001,',
    'redis-sentinel://127.0.0.1:26379',
  ])('%s', (text) => {
    const refused = (): unknown => parseStoreUrl(text);
    expect(refused).toThrow(expect.objectContaining({ code: 'ERR_OPTION', field: 'store' }));
    expect(refused).not.toThrow(/cret/);
  });
});

test.each([
  ['redis://127.0.0.1:6379/3', { kind: 'single', urls: ['redis://127.0.0.1:6379/3'], database: 3, isTls: false }],
  [
    'rediss://u:p%40ss@[::1]',
    { kind: 'single', urls: ['rediss://[::1]'], username: 'u', password: 'p@ss', isTls: true },
  ],
  [
    'redis-cluster://:p@a:1,b',
    { kind: 'cluster', urls: ['redis://a:1', 'redis://b'], username: undefined, password: 'p' },
  ],
  [
    'redis-sentinel://a:1,b:2/mine/4',
    { kind: 'sentinel', urls: ['redis://a:1', 'redis://b:2'], primaryName: 'mine', database: 4 },
  ],
])('%s', (text, expected) => {
  expect(parseStoreUrl(text)).toMatchObject(expected);
});

test('options that are none are refused', () => {
  expect(() => redisStore('redis://127.0.0.1:1', null as never)).toThrow(
    expect.objectContaining({ code: 'ERR_OPTION' }),
  );
});
