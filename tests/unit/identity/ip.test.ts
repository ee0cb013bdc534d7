import { isIP } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseIp, parseNode } from '../../../packages/comporta/src/identity/ip.js';
import { formatClient, formatIp } from '../../../packages/comporta/src/identity/ip-text.js';

const format = (text: string): string | undefined => {
  const bytes = parseNode(text);
  return bytes === undefined ? undefined : formatIp(bytes);
};
const client = (text: string, prefix = 64): string | undefined => {
  const bytes = parseNode(text);
  return bytes === undefined ? undefined : formatClient(bytes, prefix);
};

test.each([
  ['1.2.3.4', '1.2.3.4'],
  ['1.2.3.4:5678', '1.2.3.4'],
  ['::ffff:1.2.3.4', '1.2.3.4'],
  ['::ffff:102:304', '1.2.3.4'],
  ['[::FFFF:1.2.3.4]:80', '1.2.3.4'],
  ['0:0:0:0:0:ffff:0102:0304', '1.2.3.4'],
  ['2001:db8::1.2.3.4', '2001:db8::102:304'],
  ['2001:0DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['fe80::1%eth0.100', 'fe80::1'],
  ['::', '::'],
  ['::1', '::1'],
  ['1::', '1::'],
  ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
])('%s is the address %s', (text, expected) => {
  expect(format(text)).toBe(expected);
});

test.each([
  ...['', 'unknown', '_hidden', '010.0.0.1', '1', '0x7f.1', '1.2.3', '1.2.3.4.5', '1.2.3.256', '1.2.3.4:', '1.2.3.4:x'],
  ...[':', ':::', '1:::2', '::1::', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7:8::', 'g::', '12345::'],
  ...[
    '::1%',
    '1.2.3.4::',
    '::1.2.3',
    '::1.2.3.4:5',
    '[1.2.3.4]',
    '[::1',
    '[::1]x',
    '[]',
    ' ::1',
    '1.2.3.4 ',
    '<script>',
  ],
])('%j is no address', (text) => {
  expect(format(text)).toBeUndefined();
});

test('every address survives being written and read', () => {
  const byte = fc.oneof(fc.constant(0), fc.constant(255), fc.integer({ min: 0, max: 255 }));
  fc.assert(
    fc.property(
      fc.oneof(fc.array(byte, { minLength: 4, maxLength: 4 }), fc.array(byte, { minLength: 16, maxLength: 16 })),
      (bytes) => {
        const text = formatIp(bytes);
        expect(isIP(text)).toBe(bytes.length === 4 ? 4 : 6);
        // The mapped form is IPv4 by definition, so it comes back shorter.
        const isMapped = bytes.length === 16 && bytes.slice(0, 12).every((b, i) => b === (i < 10 ? 0 : 255));
        expect(parseIp(text)).toEqual(isMapped ? bytes.slice(12) : bytes);
      },
    ),
  );
});

test('any text is an address exactly when Node says so, and never throws', () => {
  const near = fc.stringMatching(/^[0-9a-fA-F:.%[\]]{0,45}$/);
  fc.assert(
    fc.property(fc.oneof(near, fc.ipV4(), fc.ipV6(), fc.string({ maxLength: 60 })), (text) => {
      const isAddress = parseIp(text) !== undefined;
      // Zones are read more liberally than by Node: interfaces may have any name.
      if (!text.includes('%')) expect(isAddress).toBe(isIP(text) !== 0);
      parseNode(text);
    }),
    { numRuns: 2000 },
  );
});

test('IPv6 texts are as short as RFC 5952 asks, like those of the URL standard', () => {
  fc.assert(
    fc.property(fc.ipV6(), (text) => {
      const bytes = parseIp(text);
      fc.pre(bytes?.length === 16);
      expect(`[${formatIp(bytes ?? [])}]`).toBe(new URL(`http://[${text}]`).hostname);
    }),
  );
});

test('all addresses of one /64 are one client, neighbours are not', () => {
  const names = new Set<string | undefined>();
  for (let i = 0; i < 2 ** 16; i++)
    names.add(client(`2001:db8:1:2:${((i * 40503) & 0xffff).toString(16)}::${i.toString(16)}`));
  expect([...names]).toEqual(['2001:db8:1:2::/64']);
  expect(client('2001:db8:1:3::1')).toBe('2001:db8:1:3::/64');
});

test('mapped addresses stay apart, as the IPv4 clients that they are', () => {
  expect([client('::ffff:1.2.3.4'), client('::ffff:5.6.7.8')]).toEqual(['1.2.3.4', '5.6.7.8']);
});

test('the prefix can be set, to a bit', () => {
  expect(client('2001:db8:1:2345::1', 56)).toBe('2001:db8:1:2300::/56');
  expect(client('2001:db8:1:2fff::1', 51)).toBe('2001:db8:1:2000::/51');
  expect(client('2001:db8::1', 128)).toBe('2001:db8::1');
});

test('a 6to4 site is one client, and NAT64 stands for the IPv4 client behind it', () => {
  expect(client('2002:102:304:1::1')).toBe('2002:102:304::/48');
  expect(client('2002:102:304:2::1', 128)).toBe('2002:102:304::/48');
  expect(client('2002:102:304:2::1', 32)).toBe('2002:102::/32');
  expect(client('64:ff9b::1.2.3.4')).toBe('1.2.3.4');
});
