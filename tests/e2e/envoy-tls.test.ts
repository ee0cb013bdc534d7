import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import { type Certificate, makeCertificate } from '../support/certificate.js';
import { makeFolder } from './cli-support.js';
import { configIn, connect, of, startDoor } from './envoy-support.js';

const SHOP = 'domain: shop\ndescriptors: [{ key: user, rate_limit: { requests_per_unit: 3, unit: day } }]\n';
const REQUEST = { domain: 'shop', descriptors: of('user=a') };

function certificateIn(folder: string, name: string): Certificate {
  mkdirSync(join(folder, name), { recursive: true });
  return makeCertificate(join(folder, name));
}

/** A client that trusts a certificate, and shows one where it is given. */
function clientOf(address: string, trusted: Certificate, own?: Certificate) {
  const read = (file: string) => readFileSync(file);
  const mine = own === undefined ? [] : [read(own.keyFile), read(own.certFile)];
  const how = credentials.createSsl(Buffer.from(trusted.cert), mine[0], mine[1]);
  return connect(address, how, { 'grpc.ssl_target_name_override': trusted.name });
}

const soon = () => ({ deadline: Date.now() + 3000 });

describe('TLS', () => {
  test('a client that does not trust the certificate is not answered, one that does is', async () => {
    const folder = makeFolder();
    const [ours, other] = [certificateIn(folder, 'a'), certificateIn(folder, 'b')];
    const { address } = await startDoor(configIn(folder, [SHOP], { tls: { cert: 'a/cert.pem', key: 'a/key.pem' } }));
    await expect(clientOf(address, other)(REQUEST, soon())).rejects.toThrow();
    expect((await clientOf(address, ours)(REQUEST, soon())).overall_code).toBe('OK');
  });

  test('with ca, a client needs a certificate that it signed', async () => {
    const folder = makeFolder();
    const [ours, client, stranger] = ['a', 'b', 'c'].map((name) => certificateIn(folder, name)) as [
      Certificate,
      Certificate,
      Certificate,
    ];
    const tls = { cert: 'a/cert.pem', key: 'a/key.pem', ca: 'b/cert.pem' };
    const { address } = await startDoor(configIn(folder, [SHOP], { tls }));
    await expect(clientOf(address, ours)(REQUEST, soon())).rejects.toThrow();
    await expect(clientOf(address, ours, stranger)(REQUEST, soon())).rejects.toThrow();
    expect((await clientOf(address, ours, client)(REQUEST, soon())).overall_code).toBe('OK');
  });

  test('a renewed certificate is served to new connections only, and a broken one to nobody', async () => {
    const folder = makeFolder();
    const [before, after] = [certificateIn(folder, 'a'), certificateIn(folder, 'b')];
    mkdirSync(join(folder, 'live'));
    const use = ({ certFile, keyFile }: Certificate): void => {
      copyFileSync(keyFile, join(folder, 'live/key.pem'));
      copyFileSync(certFile, join(folder, 'live/cert.pem'));
    };
    use(before);
    const tls = { cert: 'live/cert.pem', key: 'live/key.pem' };
    const { address, lines } = await startDoor(configIn(folder, [SHOP], { tls }));
    const old = clientOf(address, before);
    expect((await old(REQUEST, soon())).statuses[0]?.limit_remaining).toBe(2);
    use(after);
    await expect.poll(() => lines.join('\n'), { timeout: 3000 }).toContain('certificate reloaded');
    expect((await clientOf(address, after)(REQUEST, soon())).statuses[0]?.limit_remaining).toBe(1);
    expect((await old(REQUEST, soon())).overall_code).toBe('OK');
    await expect(clientOf(address, before)(REQUEST, soon())).rejects.toThrow();
    writeFileSync(join(folder, 'live/cert.pem'), 'no certificate');
    await expect.poll(() => lines.join('\n'), { timeout: 3000 }).toContain('certificate not reloaded');
    expect((await clientOf(address, after)(REQUEST, soon())).overall_code).toBe('OVER_LIMIT');
    expect(lines.join('\n')).not.toContain('PRIVATE');
  });

  test('files that do not fit are refused with their field', () => {
    const folder = makeFolder();
    certificateIn(folder, 'a');
    certificateIn(folder, 'b');
    const load = (tls: object) => () => configIn(folder, [SHOP], { tls });
    expect(load({ cert: 'a/cert.pem', key: 'b/key.pem' })).toThrow('envoy.tls.key');
    expect(load({ cert: 'none.pem', key: 'b/key.pem' })).toThrow('there is no file');
  });
});
