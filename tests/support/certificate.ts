import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A self-signed certificate for `redis.test`, and for nothing else, in files and as text. */
export interface Certificate {
  readonly name: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
  /** Arguments that make a server speak TLS on a port; it asks clients for a certificate unless told not to. */
  serverArgs(tlsPort: number, clients?: 'yes' | 'no'): string[];
}

export function makeCertificate(dir: string): Certificate {
  const name = 'redis.test';
  const [certFile, keyFile] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
  const what = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`, '-days', '2'];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  execFileSync('openssl', ['req', ...kind, ...what, '-keyout', keyFile, '-out', certFile], { stdio: 'pipe' });
  return {
    name,
    certFile,
    keyFile,
    cert: readFileSync(certFile, 'utf8'),
    key: readFileSync(keyFile, 'utf8'),
    serverArgs: (tlsPort, clients = 'no') => [
      ...['--tls-port', String(tlsPort), '--tls-cert-file', certFile, '--tls-key-file', keyFile],
      ...['--tls-ca-cert-file', certFile, '--tls-auth-clients', clients],
    ],
  };
}
