import { readFileSync } from 'node:fs';
import { type Fault, readTlsFiles } from '../config/store.js';
import type { TlsTexts } from './grpc/credentials.js';
import type { EnvoyTlsConfig } from './schema.js';

export type ReadTls = { readonly texts: TlsTexts } | { readonly faults: readonly Fault[] };

/** Reads certificate and key, and sees that they fit. Never throws. */
export function readTls(tls: EnvoyTlsConfig): ReadTls {
  const faults: Fault[] = [];
  const { cert = '', key = '', ca } = readTlsFiles('envoy', tls, (name) => readFileSync(name, 'utf8'), faults);
  return faults.length > 0 ? { faults } : { texts: { cert, key, ca } };
}
