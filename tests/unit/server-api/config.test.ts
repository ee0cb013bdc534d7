import { describe, expect, test } from 'vitest';
import type { ServerConfig } from '../../../packages/server/src/config/config.js';
import { loadConfig } from '../../../packages/server/src/config/load.js';
import { restartNeeded } from '../../../packages/server/src/config/restart.js';

const TOKEN = 'a-token-of-the-tests';

const limits = { fixedWindow: { limit: 1, window: '1m' } };
const places = { concurrency: { limit: 1, lease: '1m' } };

const load = (api: object, rest: object = {}, environment: Record<string, string> = {}) =>
  loadConfig(
    JSON.stringify({ policies: [{ name: 'a', limits }], api: { listen: '127.0.0.1:1', ...api }, ...rest }),
    environment,
  );

function problemsOf(...given: Parameters<typeof load>): readonly (readonly [string, string, string | undefined])[] {
  const loaded = load(...given);
  return 'problems' in loaded ? loaded.problems.map(({ path, message, hint }) => [path, message, hint] as const) : [];
}

function configOf(...given: Parameters<typeof load>): ServerConfig {
  const loaded = load(...given);
  if ('config' in loaded) return loaded.config;
  throw new Error(JSON.stringify(loaded.problems));
}

describe('an API that other machines reach', () => {
  test.each(['0.0.0.0:1', '[::]:1', '192.0.2.1:1', 'api.example:1'])(
    '%s needs something that keeps strangers out',
    (listen) => {
      const [[path, message, hint] = []] = problemsOf({ listen });
      expect([path, message]).toEqual(['api.listen', expect.stringContaining('nothing keeps strangers out')]);
      expect(hint).toContain('api.tokens');
      expect(problemsOf({ listen, tokens: TOKEN })).toEqual([]);
      expect(problemsOf({ listen, public: true })).toEqual([]);
    },
  );

  test.each(['127.0.0.1:1', '127.9.9.9:1', '[::1]:1', 'localhost:1', '8081'])('%s is this machine alone', (listen) => {
    expect(problemsOf({ listen })).toEqual([]);
  });
});

describe('tokens', () => {
  test('are one or a list, also from the environment', () => {
    expect(configOf({ tokens: TOKEN }).api?.tokens).toEqual([TOKEN]);
    const environment = { ONE: TOKEN, TWO: '1234567890123456789' };
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the file's own
    expect(configOf({ tokens: ['${ONE}', '${TWO}'] }, {}, environment).api?.tokens).toEqual(Object.values(environment));
  });

  test.each([
    ['short'],
    ['with a space in its midst'],
    ['x'.repeat(1025)],
    [7],
    [true],
    [['short']],
    [[]],
    [{ a: 'sixteen-letters-x' }],
    [Array(21).fill(TOKEN)],
  ])('%j cannot be one, and no message repeats it', (tokens) => {
    for (const [section, where] of [
      [{ tokens }, 'api.tokens'],
      [{ store: { tokens } }, 'api.store.tokens'],
    ] as const) {
      const problems = problemsOf(section);
      expect(problems.length).toBeGreaterThan(0);
      expect(problems.every(([path]) => path.startsWith(where))).toBe(true);
      expect(JSON.stringify(problems)).not.toMatch(/short|midst|xxxx|sixteen/);
    }
  });
});

describe('authorize', () => {
  const trusted = { trustedProxies: ['loopback'] };

  test('needs proxies that are trusted, and policies that exist', () => {
    expect(problemsOf({ authorize: true })).toEqual([
      ['api.authorize', expect.stringContaining('serves nobody'), expect.stringContaining('trustedProxies')],
    ]);
    expect(problemsOf({ authorize: true }, trusted)).toEqual([]);
    expect(problemsOf({ authorize: false })).toEqual([]);
    expect(problemsOf({ authorize: ['b'] }, trusted)).toEqual([
      ['api.authorize[0]', 'there is no policy "b"', 'did you mean "a"?'],
    ]);
  });

  test.each([
    ['count', { count: 'failures', limits }],
    ['limits', { limits: places }],
    ['limits', { limits: [limits, places] }],
  ])('refuses policies that need the end of a request (%s), unless it leaves them out', (field, policy) => {
    const policies = [
      { name: 'a', limits },
      { name: 'b', ...policy },
    ];
    const [[path, message] = []] = problemsOf({ authorize: true }, { ...trusted, policies });
    expect(path).toMatch(new RegExp(`^policies\\[1\\]\\.${field}`));
    expect(message).toContain('never sees how a request ends');
    expect(problemsOf({ authorize: ['b'] }, { ...trusted, policies })).toHaveLength(1);
    expect(problemsOf({ authorize: ['a'] }, { ...trusted, policies })).toEqual([]);
  });
});

test('files of a certificate that cannot be read are told with their place', () => {
  expect(problemsOf({ tls: { cert: '/no/such/cert', key: '/no/such/key' } })).toEqual([
    ['api.tls.cert', 'there is no file /no/such/cert', expect.any(String)],
    ['api.tls.key', 'there is no file /no/such/key', expect.any(String)],
  ]);
  expect(problemsOf({ tls: { cert: 'x' } })).toEqual([['api.tls.key', 'missing', expect.any(String)]]);
});

test('origins are origins', () => {
  expect(configOf({ cors: ['https://app.example:8443'] }).api?.cors).toEqual(['https://app.example:8443']);
  for (const origin of ['*', 'app.example', 'https://app.example/', 'https://*.example']) {
    expect(problemsOf({ cors: [origin] })).toHaveLength(1);
  }
});

test('what needs a restart is said, all else is put in force', () => {
  const started = configOf({});
  expect(
    restartNeeded(
      started,
      configOf({ tokens: TOKEN, maxBodyBytes: 1024, cors: ['https://a.example'], store: { tokens: TOKEN } }),
    ),
  ).toEqual([]);
  expect(restartNeeded(started, configOf({ listen: '127.0.0.1:2', requestTimeout: '1s', idleTimeout: '1s' }))).toEqual([
    'api.listen',
    'api.requestTimeout',
    'api.idleTimeout',
  ]);
  expect(restartNeeded(started, { ...started, api: undefined })).toEqual(['api']);
});
