import { expect, test } from 'vitest';
import { loadConfig } from '../../../packages/server/src/config/load.js';
import { restartNeeded } from '../../../packages/server/src/config/restart.js';

const TOKEN = 'a-token-of-the-tests';
const holder = { token: TOKEN, role: 'read', name: 'ada' };

const load = (admin: object, rest: object = {}) =>
  loadConfig(JSON.stringify({ admin: { listen: '127.0.0.1:1', tokens: [holder], ...admin }, ...rest }), {});

function problemsOf(...given: Parameters<typeof load>): readonly (readonly [string, string])[] {
  const loaded = load(...given);
  return 'problems' in loaded ? loaded.problems.map(({ path, message }) => [path, message] as const) : [];
}

const configOf = (...given: Parameters<typeof load>) => {
  const loaded = load(...given);
  if ('config' in loaded) return loaded.config;
  throw new Error(JSON.stringify(loaded.problems));
};

test('a port alone is this machine only, and subjects are hashed in the audit log', () => {
  expect(configOf({ listen: 8083 }).admin).toMatchObject({
    listen: { host: '127.0.0.1', port: 8083 },
    auditSubjects: 'hashed',
    topSubjects: 'plain',
  });
});

test.each(['0.0.0.0:1', '[::]:1', '192.0.2.1:1', 'admin.example:1'])('%s needs a word of the owner', (listen) => {
  expect(problemsOf({ listen })).toEqual([['admin.listen', expect.stringContaining('without TLS')]]);
  expect(problemsOf({ listen, public: true })).toEqual([]);
});

test('TLS lets it listen anywhere; its files must be there', () => {
  const problems = problemsOf({ listen: '0.0.0.0:1', tls: { cert: 'none.pem', key: 'none.pem' } });
  expect(problems.map(([path]) => path)).toEqual(['admin.tls.cert', 'admin.tls.key']);
});

test('there is no admin API without a token', () => {
  expect(problemsOf({ tokens: [] })).toEqual([['admin.tokens', expect.any(String)]]);
  expect(problemsOf({ tokens: undefined })).toEqual([['admin.tokens', 'missing']]);
});

test.each([
  [{ token: 'short' }, 'token'],
  [{ token: 'with a space in its midst' }, 'token'],
  [{ token: 7 }, 'token'],
  [{ role: 'admin' }, 'role'],
  [{ role: undefined }, 'role'],
  [{ name: 'two words' }, 'name'],
  [{ name: undefined }, 'name'],
])('%j makes no holder of a token, and no message repeats it', (wrong, field) => {
  const problems = problemsOf({ tokens: [{ ...holder, ...wrong }] });
  expect(problems.map(([path]) => path)).toEqual([`admin.tokens[0].${field}`]);
  expect(JSON.stringify(problems)).not.toMatch(new RegExp(`${TOKEN}|short|midst`));
});

test('a name or a token that is used twice is named', () => {
  const other = { token: 'another-token-of-the-tests', role: 'operate', name: 'bob' };
  expect(problemsOf({ tokens: [holder, other] })).toEqual([]);
  const twice = problemsOf({ tokens: [holder, { ...other, name: 'ada' }, { ...other, token: TOKEN }] });
  expect(twice.map(([path]) => path)).toEqual(['admin.tokens[1].name', 'admin.tokens[2].token']);
  expect(JSON.stringify(twice)).not.toContain(TOKEN);
});

test('no two doors listen at one address', () => {
  expect(problemsOf({}, { api: { listen: '127.0.0.1:1' } })).toEqual([
    ['admin.listen', expect.stringContaining('listens there already')],
  ]);
});

test('tokens change at a reload, the address and the section itself with a restart', () => {
  const first = configOf({});
  const renewed = configOf({ tokens: [{ ...holder, role: 'operate' }], auditSubjects: 'plain' });
  expect(restartNeeded(first, renewed)).toEqual([]);
  expect(restartNeeded(first, configOf({ listen: '127.0.0.1:2' }))).toEqual(['admin.listen']);
  expect(restartNeeded(first, { ...first, admin: undefined })).toEqual(['admin']);
});
