import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ClientIpOptions, createClientOf } from '../../../packages/comporta/src/identity/client-name.js';
import { view } from './view.js';

const createClientName = (options: ClientIpOptions = {}) => {
  const clientOf = createClientOf(options);
  return (request: Parameters<typeof clientOf>[0]): string | undefined => clientOf(request)?.name;
};

const name = (
  options: ClientIpOptions,
  peer: string | undefined,
  value?: string | readonly string[],
): string | undefined =>
  createClientName(options)(
    view({ peer, headers: value === undefined ? {} : { [options.forwardedHeader ?? 'x-forwarded-for']: value } }),
  );

const behind: ClientIpOptions = { trustedProxies: ['10.0.0.0/8', '2001:db8:aaaa::/48'] };
const rfc: ClientIpOptions = { ...behind, forwardedHeader: 'forwarded' };

test('nobody is trusted by default: the header is not read', () => {
  expect(name({}, '10.0.0.1', '7.7.7.7')).toBe('10.0.0.1');
  expect(name(behind, '192.0.2.1', '7.7.7.7')).toBe('192.0.2.1');
});

test.each([
  '7.7.7.7',
  '1.1.1.1, 7.7.7.7',
  '1.1.1.1,7.7.7.7:51234',
  '<script>, 7.7.7.7',
  ',,7.7.7.7',
  '9.9.9.9, 7.7.7.7, 10.1.1.1',
])('behind a trusted proxy, %j names 7.7.7.7', (value) => {
  expect(name(behind, '10.0.0.1', value)).toBe('7.7.7.7');
  expect(name(behind, '::ffff:10.0.0.1', value)).toBe('7.7.7.7');
});

test('whatever a client writes to the left, the client is the same', () => {
  const nameOf = createClientName(behind);
  const left = fc.oneof(
    fc.string({ maxLength: 300 }),
    fc.ipV4(),
    fc.ipV6(),
    fc.array(fc.ipV4()).map((list) => list.join()),
  );
  fc.assert(
    fc.property(left, (forged) => {
      expect(nameOf(view({ peer: '10.0.0.1', headers: { 'x-forwarded-for': `${forged}, 7.7.7.7` } }))).toBe('7.7.7.7');
    }),
  );
});

test('a port or brackets do not make another client', () => {
  expect(name(behind, '10.0.0.1', '[2001:db8::1]:443')).toBe('2001:db8::/64');
  expect(name(behind, '10.0.0.1', '2001:db8::1')).toBe('2001:db8::/64');
});

test('several header lines are one list, in order', () => {
  expect(name(behind, '10.0.0.1', ['9.9.9.9', '7.7.7.7, 10.2.2.2'])).toBe('7.7.7.7');
});

test('without entries the proxy itself is the client, and of trusted ones the leftmost', () => {
  expect(name(behind, '10.0.0.1')).toBe('10.0.0.1');
  expect(name(behind, '10.0.0.1', '')).toBe('10.0.0.1');
  expect(name(behind, '10.0.0.1', '10.3.3.3, 10.2.2.2')).toBe('10.3.3.3');
});

test.each(['unknown', '_hidden', '9.9.9.9, unknown', '9.9.9.9, 010.0.0.1', 'localhost', '9.9.9.9, x, 10.0.0.2'])(
  'an entry that is no address ends the walk: %j names nobody',
  (value) => {
    expect(name(behind, '10.0.0.1', value)).toBeUndefined();
  },
);

test('a peer without an address is believed only as a declared unix socket', () => {
  expect(name(behind, undefined, '7.7.7.7')).toBeUndefined();
  expect(name({ trustedProxies: ['unix'] }, undefined, '7.7.7.7')).toBe('7.7.7.7');
  expect(name({ trustedProxies: ['unix'] }, undefined)).toBeUndefined();
  expect(name({ trustedProxies: ['unix'] }, 'garbage', '7.7.7.7')).toBeUndefined();
});

test('beyond 32 entries or 8 KiB nothing is read', () => {
  const proxies = (count: number) => new Array<string>(count).fill('10.0.0.2').join(', ');
  expect(name(behind, '10.0.0.1', `7.7.7.7, ${proxies(31)}`)).toBe('7.7.7.7');
  expect(name(behind, '10.0.0.1', `7.7.7.7, ${proxies(32)}`)).toBeUndefined();
  expect(name(behind, '10.0.0.1', `${'9.9.9.9, '.repeat(5000)}7.7.7.7`)).toBe('7.7.7.7');
  expect(name(behind, '10.0.0.1', `7.7.7.7,${' '.repeat(9000)}10.0.0.2`)).toBeUndefined();
});

test.each([
  ['for=192.0.2.60;proto=http;by=203.0.113.43', '192.0.2.60'],
  ['for="[2001:db8:cafe::17]:4711"', '2001:db8:cafe::/64'],
  ['For=192.0.2.43, FOR = "x"', undefined],
  ['for=9.9.9.9, for="192.0.2.43:47011"', '192.0.2.43'],
  ['for=192.0.2.43, for=10.0.0.9;proto=https', '192.0.2.43'],
  ['for=192.0.2.43:80', '192.0.2.43'],
  ['for="\\1\\92.0.2.43"', '192.0.2.43'],
  ['for="unterminated, for=192.0.2.43', '192.0.2.43'],
  ['by="a,b;for=1.1.1.1";for=192.0.2.43', '192.0.2.43'],
  ['for=192.0.2.43;by="a,\\"b"', '192.0.2.43'],
  ['for=unknown', undefined],
  ['for=_SEVKISEK', undefined],
  ['for=9.9.9.9, proto=https', undefined],
  ['for=9.9.9.9;for=8.8.8.8', undefined],
  ['for=', undefined],
])('Forwarded: %s names %s', (value, expected) => {
  expect(name(rfc, '10.0.0.1', value)).toBe(expected);
});

test('any header, in both syntaxes, is read without throwing', () => {
  const text = fc.oneof(fc.string({ maxLength: 400 }), fc.stringMatching(/^[for=",;\\ 10.[\]:]{0,200}$/));
  const [plain, quoted] = [createClientName(behind), createClientName(rfc)];
  fc.assert(
    fc.property(fc.array(text, { maxLength: 4 }), fc.option(text, { nil: undefined }), (values, peer) => {
      for (const address of ['10.0.0.1', peer]) {
        const request = view({ peer: address, headers: { 'x-forwarded-for': values, forwarded: values } });
        for (const found of [plain(request), quoted(request)]) {
          if (found !== undefined) expect(found).toMatch(/^[0-9a-f:.]+(\/\d+)?$/);
        }
      }
    }),
    { numRuns: 1000 },
  );
});

test('answers stay right while thousands of addresses pass through the memory of a reader', () => {
  const nameOf = createClientName(behind);
  const addresses = Array.from({ length: 5000 }, (_, i) => `192.168.${i >> 8}.${i & 255}`);
  for (const address of [...addresses, ...addresses]) {
    expect(nameOf(view({ peer: address }))).toBe(address);
    expect(nameOf(view({ peer: '10.0.0.1', headers: { 'x-forwarded-for': address } }))).toBe(address);
    expect(nameOf(view({ peer: '10.0.0.1' }))).toBe('10.0.0.1');
  }
});

test('presets, single addresses and mapped ranges are understood', () => {
  const trusts = (proxy: string, peer: string) => name({ trustedProxies: [proxy] }, peer, '7.7.7.7') === '7.7.7.7';
  for (const peer of ['127.9.9.9', '::1', '::ffff:127.0.0.1']) expect(trusts('loopback', peer)).toBe(true);
  for (const peer of ['10.1.1.1', '172.31.0.1', '192.168.0.1', 'fdff::1']) expect(trusts('private', peer)).toBe(true);
  for (const peer of ['172.32.0.1', '11.0.0.1', 'fe80::1', '127.0.0.1']) expect(trusts('private', peer)).toBe(false);
  for (const peer of ['169.254.1.1', 'fe80::1%eth0', 'febf::1']) expect(trusts('linklocal', peer)).toBe(true);
  expect([trusts('192.0.2.1', '192.0.2.1'), trusts('192.0.2.1', '192.0.2.2')]).toEqual([true, false]);
  expect(trusts('::ffff:192.0.2.0/120', '192.0.2.77')).toBe(true);
  expect(trusts('unsafe:all', '203.0.113.1')).toBe(true);
});

test.each([
  [1, 'trustedProxies'],
  [true, 'trustedProxies'],
  ['loopback', 'trustedProxies'],
  [[2], 'trustedProxies[0]'],
  [['loopback', '0.0.0.0/0'], 'trustedProxies[1]'],
  [['::/0'], 'trustedProxies[0]'],
  [['::ffff:0:0/96'], 'trustedProxies[0]'],
  [['10.0.0.0/33'], 'trustedProxies[0]'],
  [['10.0.0/8'], 'trustedProxies[0]'],
  [['10.0.0.0/8/8'], 'trustedProxies[0]'],
  [['unsafe:all', 'proxy.example.com'], 'trustedProxies[1]'],
  [['toString'], 'trustedProxies[0]'],
])('trustedProxies: %j is refused at start', (trustedProxies, field) => {
  expect(() => createClientName({ trustedProxies } as ClientIpOptions)).toThrow(
    expect.objectContaining({ code: 'ERR_PROXIES', field }),
  );
});

test('whoever trusts everybody is told how to say so', () => {
  for (const trustedProxies of [true, ['0.0.0.0/0'], ['::/0']] as unknown as string[][]) {
    expect(() => createClientName({ trustedProxies })).toThrow('unsafe:all');
  }
});

test('a prefix or header that cannot be meant is refused at start', () => {
  for (const ipv6Prefix of [0, 31, 129, 64.5, '64' as unknown as number]) {
    expect(() => createClientName({ ipv6Prefix })).toThrow(expect.objectContaining({ field: 'ipv6Prefix' }));
  }
  expect(() => createClientName({ forwardedHeader: 'x forwarded' })).toThrow(
    expect.objectContaining({ field: 'forwardedHeader' }),
  );
});

test('one undeclared proxy in front of nearly all traffic is noticed once, ordinary traffic never', () => {
  const suspects: string[] = [];
  const count = (share: number, forwarding: boolean) => {
    const nameOf = createClientName({ onProxySuspected: (peer) => suspects.push(peer) });
    for (let i = 0; i < 3000; i++) {
      const isProxied = (i * 7) % 100 < share;
      const peer = isProxied ? '10.0.0.5' : `192.0.2.${i % 250}`;
      nameOf(view({ peer, headers: forwarding && isProxied ? { 'x-forwarded-for': '7.7.7.7' } : {} }));
    }
  };
  count(95, true);
  expect(suspects).toEqual(['10.0.0.5']);
  count(85, true);
  count(100, false);
  expect(suspects).toHaveLength(1);
});
