import { type ComportaError, fixedWindow, memoryStore } from 'comporta';
import { createGate, type GateOptions, type Policy } from 'comporta/http';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hasPrefix, parseIp } from '../../../packages/comporta/src/identity/ip.js';
import { NetworkSet, parseNetwork } from '../../../packages/comporta/src/identity/networks.js';
import { cpuMsOf } from '../../support/cpu.js';
import { view } from '../identity/view.js';
import { field } from './parse.js';
import { ManualClock } from './stores.js';

const limits = fixedWindow({ limit: 1, window: '1d', align: 'first-hit' });

function setUp(policies: readonly Partial<Policy>[], options: Partial<GateOptions> = {}) {
  const errors: ComportaError[] = [];
  const gate = createGate({
    store: memoryStore({ clock: new ManualClock() }),
    onError: (error) => errors.push(error),
    ...options,
    policies: policies.map((policy, i) => ({ name: `p${i}`, limits, ...policy })),
  });
  const check = (parts: Parameters<typeof view>[0] = {}) => {
    const verdict = gate.check(view(parts));
    if (verdict instanceof Promise) throw new TypeError('expected an answer at once');
    return verdict;
  };
  const statuses = (times: number, parts: Parameters<typeof view>[0] = {}) =>
    Array.from({ length: times }, () => check(parts).status);
  return { gate, check, statuses, errors };
}

test('who is denied gets 403 as a problem, without fields, and nothing is counted', async () => {
  const { check, gate } = setUp([{}, { deny: ['203.0.113.0/24'] }]);
  const verdict = check();
  expect(verdict).toMatchObject({ allowed: false, status: 403, decisions: [], deniedBy: ['p1'] });
  expect(Object.fromEntries(verdict.headers)).toEqual({
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
  });
  expect(JSON.parse(verdict.body)).toEqual({
    type: 'about:blank',
    title: 'Forbidden',
    status: 403,
    detail: 'Requests of this client are not accepted.',
  });
  expect(await gate.limiters.get('p0')?.peek('ip=203.0.113.9')).toMatchObject({ limits: [{ remaining: 1 }] });
});

test('a preflight is not counted, and denied like any other request', () => {
  const headers = { origin: 'https://a.example', 'access-control-request-method': 'GET' };
  const { check, statuses } = setUp([{}], { deny: ['198.51.100.1'] });
  expect(statuses(3, { method: 'OPTIONS', headers })).toEqual([0, 0, 0]);
  expect(check({ method: 'OPTIONS', headers, peer: '198.51.100.1' }).status).toBe(403);
});

test('who is allowed is not counted by that policy, and is by the others', () => {
  const { statuses, check } = setUp([{ allow: ['203.0.113.9'] }]);
  expect(statuses(3)).toEqual([0, 0, 0]);
  expect(field(check(), 'ratelimit')).toBeUndefined();
  expect(statuses(2, { peer: '203.0.113.8' })).toEqual([0, 429]);
  const two = setUp([{ allow: ['203.0.113.9'] }, {}]);
  expect(two.statuses(2)).toEqual([0, 429]);
});

test('deny comes before allow, and the gate’s lists before those of policies', () => {
  const list = ['203.0.113.9'];
  expect(setUp([{ deny: list, allow: list }]).check().status).toBe(403);
  expect(setUp([{}], { deny: list, allow: list }).check()).toMatchObject({ status: 403, deniedBy: ['*'] });
  expect(setUp([{ deny: list }], { allow: list }).statuses(3)).toEqual([0, 0, 0]);
  expect(setUp([{ allow: list }], { deny: list }).check().status).toBe(403);
  expect(setUp([{ deny: list, match: { path: '/other' } }]).statuses(2), 'a policy that does not match').toEqual([
    0, 0,
  ]);
});

test('a deny list in shadow mode is told and not enforced', () => {
  const { check } = setUp([{ deny: ['203.0.113.9'], shadow: true }, {}]);
  expect(check()).toMatchObject({ allowed: true, deniedBy: ['p0'], decisions: [{ policy: 'p1' }] });
  expect(setUp([{ deny: ['203.0.113.9'], shadow: true }]).check()).toMatchObject({ allowed: true, deniedBy: ['p0'] });
});

test('values of the key are compared exactly, whatever the key', () => {
  const byHeader = setUp([
    { key: 'header:X-Key', deny: { subjects: ['thief'] }, allow: { subjects: ['friend', '7'] } },
  ]);
  const of = (key: string) => byHeader.statuses(2, { headers: { 'x-key': key } });
  expect([of('thief'), of('friend'), of('7'), of('Thief'), of('thief2')]).toEqual([
    [403, 403],
    [0, 0],
    [0, 0],
    [0, 429],
    [0, 429],
  ]);
  const byParts = setUp([{ key: ['header:x-a', 'header:x-b'], deny: { subjects: [['1,2', '3']] } }]);
  expect(byParts.check({ headers: { 'x-a': '1,2', 'x-b': '3' } }).status).toBe(403);
  expect(byParts.check({ headers: { 'x-a': '1', 'x-b': '2,3' } }).status).toBe(0);
  const byFunction = setUp([{ key: () => 42, deny: { subjects: ['42'] } }]);
  expect(byFunction.check().status).toBe(403);
  const byIp = setUp([{ key: ['ip'], deny: { subjects: ['203.0.113.9'] } }]);
  expect(byIp.check().status).toBe(403);
});

test('the anonymous subject can be named by no value that a client sends or a list holds', () => {
  const { check } = setUp([{ key: 'header:x-key', deny: { subjects: ['anonymous'] } }]);
  expect(check().status).toBe(0);
  expect(check({ headers: { 'x-key': 'anonymous' } }).status).toBe(403);
});

test('addresses and values together: either will do', () => {
  const { check } = setUp([{ key: 'header:x-key', deny: { addresses: ['198.51.100.0/24'], subjects: ['thief'] } }]);
  expect(check({ headers: { 'x-key': 'thief' } }).status).toBe(403);
  expect(check({ peer: '198.51.100.7', headers: { 'x-key': 'x' } }).status).toBe(403);
  expect(check({ headers: { 'x-key': 'x' } }).status).toBe(0);
});

test('one address inside a /64 can be denied, in any spelling, also behind a proxy', () => {
  const { check } = setUp([{}, { deny: ['2001:db8::5', '64:ff9b::c000:201', '198.51.100.7'] }], {
    trustedProxies: ['10.0.0.1'],
  });
  expect(check({ peer: '2001:db8::5' }).status).toBe(403);
  expect(check({ peer: '2001:DB8:0:0::0.0.0.5' }).status).toBe(403);
  expect(check({ peer: '2001:db8::6' }).status).toBe(0);
  expect(check({ peer: '::ffff:198.51.100.7' }).status).toBe(403);
  expect(check({ peer: '64:ff9b::198.51.100.7' }).status).toBe(403);
  for (const peer of ['64:ff9b::192.0.2.1', '192.0.2.1']) expect(check({ peer }).status).toBe(403);
  expect(check({ peer: '10.0.0.1', headers: { 'x-forwarded-for': '198.51.100.7' } }).status).toBe(403);
  expect(check({ peer: '10.0.0.2', headers: { 'x-forwarded-for': '198.51.100.7' } }).status).toBe(0);
});

test('functions decide too; one that fails names nobody and is reported', () => {
  const { statuses } = setUp([{}], { deny: ({ url }) => url === '/secret' });
  expect([statuses(1, { url: '/secret' }), statuses(1)]).toEqual([[403], [0]]);
  const failing = setUp([
    {
      allow: () => {
        throw new Error('no list');
      },
    },
  ]);
  expect(failing.statuses(2)).toEqual([0, 429]);
  expect(failing.errors[0]).toMatchObject({ code: 'ERR_POLICY', field: 'policies[0].allow' });
});

test('a set of networks says what comparing all their bits says', () => {
  const octet = fc.integer({ min: 0, max: 3 });
  const v4 = fc.tuple(octet, octet, octet, octet).map((bytes) => bytes.join('.'));
  const v6 = fc.tuple(octet, octet, octet).map(([a, b, c]) => `2001:${a}::${b}:${c}`);
  const network = fc.oneof(
    fc.tuple(v4, fc.integer({ min: 1, max: 32 })),
    fc.tuple(v6, fc.integer({ min: 1, max: 128 })),
  );
  fc.assert(
    fc.property(fc.array(network, { maxLength: 20 }), fc.oneof(v4, v6), (written, address) => {
      const networks = written.flatMap(([text, bits]) => parseNetwork(`${text}/${bits}`) ?? []);
      const bytes = parseIp(address) ?? [];
      expect(networks).toHaveLength(written.length);
      const expected = networks.some((of) => hasPrefix(bytes, of.bytes, of.bits));
      expect(new NetworkSet(networks).has(bytes)).toBe(expected);
    }),
    { numRuns: 1000 },
  );
});

test('ten thousand entries cost a request about what ten cost', () => {
  const listOf = (count: number) =>
    Array.from({ length: count }, (_, i) =>
      i % 2 === 0 ? `10.${i >> 8}.${i & 255}.0/24` : `11.0.${i >> 8}.${i & 255}`,
    );
  const timeOf = (count: number): number => {
    const { check } = setUp([{ match: { path: '/none' } }], { deny: listOf(count) });
    const views = Array.from({ length: 20_000 }, (_, i) => ({ peer: `203.0.${(i >> 8) & 7}.${i & 255}` }));
    for (const parts of views) check(parts);
    return cpuMsOf(() => {
      for (const parts of views) check(parts);
    });
  };
  timeOf(10);
  const few = timeOf(10);
  const many = timeOf(10_000);
  // A list that is walked through would take hundreds of times as long.
  expect(many).toBeLessThan(few * 10 + 20);
});

test.each<[string, unknown, string, string]>([
  ['a word', ['everybody'], 'deny[0]', 'values of the key go under subjects'],
  ['an address with a port', ['1.2.3.4', '1.2.3.4:80'], 'deny[1]', 'expected an address or a CIDR'],
  ['a prefix that is too long', ['10.0.0.0/33'], 'deny[0]', '1 to 32 bits'],
  ['everybody', ['0.0.0.0/0'], 'deny[0]', '1 to 32 bits'],
  ['no prefix', ['10.0.0.0/'], 'deny[0]', '1 to 32 bits'],
  ['bits beyond the prefix', ['10.1.2.3/8'], 'deny[0]', 'did you mean "10.0.0.0/8"'],
  ['bits beyond a prefix of IPv6', ['2001:db8::1/32'], 'deny[0]', 'did you mean "2001:db8::/32"'],
  ['a number', [7], 'deny[0]', 'got 7'],
  ['a text', '10.0.0.0/8', 'deny', 'expected a list'],
  ['null', null, 'deny', 'got null'],
  ['an unknown field', { adresses: [] }, 'deny.adresses', 'unknown'],
  ['a bad address among fields', { addresses: ['x'] }, 'deny.addresses[0]', 'expected an address'],
  ['an empty value', { subjects: ['a', ''] }, 'deny.subjects[1]', 'expected a text'],
  ['a list for a key of one part', { subjects: [['a', 'b']] }, 'deny.subjects[0]', 'expected a text'],
])('%s in a list is refused, naming the entry', (_, deny, path, message) => {
  expect(() => setUp([{ key: 'header:x', deny: deny as never }])).toThrow(
    expect.objectContaining({
      code: 'ERR_POLICY',
      field: `policies[0].${path}`,
      message: expect.stringContaining(message),
    }),
  );
});

test('values of a key that has none, or other parts, are refused', () => {
  const refused = (policy: Partial<Policy>, message: string) =>
    expect(() => setUp([policy])).toThrow(expect.objectContaining({ message: expect.stringContaining(message) }));
  refused({ key: 'global', deny: { subjects: ['a'] } }, 'there is no key');
  refused({ key: ['global'], deny: { subjects: ['a'] } }, 'there is no key');
  refused({ deny: { subjects: ['2001:db8::1'] } }, 'names no subject "ip=2001:db8::1", but "ip=2001:db8::/64"');
  refused({ key: ['header:x', 'ip'], deny: { subjects: [['a', 'b']] } }, 'go under addresses');
  refused({ key: ['ip', 'header:x'], deny: { subjects: ['a'] } }, 'a list of 2 texts');
  refused({ key: ['ip', 'header:x'], deny: { subjects: [['a']] } }, 'a list of 2 texts');
  expect(() => setUp([{}], { deny: { subjects: ['a'] } as never })).toThrow(
    expect.objectContaining({ field: 'deny.subjects' }),
  );
  expect(() => setUp([{}], { allow: ['thief'] })).toThrow(expect.objectContaining({ field: 'allow[0]' }));
});
