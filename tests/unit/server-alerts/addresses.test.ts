import type { LookupAddress } from 'node:dns';
import { describe, expect, it } from 'vitest';
import {
  isPrivateAddress,
  publicLookup,
  REFUSED_ADDRESS,
  urlFault,
} from '../../../packages/server/src/alerts/addresses.js';

it.each([
  ...['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '0.0.0.0', '100.64.0.1'],
  ...['224.0.0.1', '255.255.255.255', '::', '::1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd12::1', 'ff02::1'],
  ...['::ffff:127.0.0.1', '::ffff:a00:1', '::7f00:1', '64:ff9b::7f00:1', '64:ff9b::10.0.0.1', '2002:7f00:1::1'],
])('%s is private', (address) => {
  expect(isPrivateAddress(address)).toBe(true);
});

it.each(['1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '64:ff9b::101:101', '::ffff:1.1.1.1', 'a.b'])(
  '%s is not',
  (address) => {
    expect(isPrivateAddress(address)).toBe(false);
  },
);

it.each([
  ...['http://example.com', 'https://127.0.0.1', 'https://2130706433/', 'https://0x7f.1/', 'https://[::1]/'],
  ...['https://[::ffff:10.0.0.1]/', 'https://localhost/', 'https://LOCALHOST./', 'https://a.localhost/'],
])('%s is refused', (url) => {
  expect(urlFault(url)).toBeDefined();
});

it.each(['https://example.com/a', 'https://1.1.1.1/', 'https://[2606:4700::1111]/'])('%s is taken', (url) => {
  expect(urlFault(url)).toBeUndefined();
});

describe('the lookup of a connection', () => {
  const ask = (addresses: readonly string[], all: boolean): Promise<unknown> => {
    const found: LookupAddress[] = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    const lookup = publicLookup((_name, _options, done) => done(null, found));
    return new Promise((resolve) => {
      lookup('sink.example', { all }, (error, address, family) => resolve(error?.code ?? [address, family]));
    });
  };

  it('gives public addresses only', async () => {
    expect(await ask(['10.0.0.1', '1.1.1.1'], false)).toEqual(['1.1.1.1', 4]);
    expect(await ask(['::1', '2606:4700::1111'], true)).toEqual([
      [{ address: '2606:4700::1111', family: 6 }],
      undefined,
    ]);
  });

  it('fails when there is none', async () => {
    for (const all of [true, false]) expect(await ask(['127.0.0.1', '::1'], all)).toBe(REFUSED_ADDRESS);
  });

  it('passes on that a name does not exist', async () => {
    const fault = Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    const lookup = publicLookup((_name, _options, done) => done(fault, []));
    const code = await new Promise((resolve) => lookup('a', { all: true }, (error) => resolve(error?.code)));
    expect(code).toBe('ENOTFOUND');
  });
});
