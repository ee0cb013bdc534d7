import { ComportaError } from '../core/errors.js';
import type { Address } from './url.js';

/** Settings of TLS, as `tls.connect` of Node takes them; for `rediss` URLs only. */
export interface TlsOptions {
  /** Certificates to trust in place of the system's, in PEM. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** Certificate and key of this client, for servers that ask for one. */
  readonly cert?: string | Uint8Array;
  readonly key?: string | Uint8Array;
  /** Name that the certificate must carry, when it is not the host of the URL. */
  readonly servername?: string;
  /** False accepts any certificate, so that anybody in between can read along: for tests only. */
  readonly rejectUnauthorized?: boolean;
}

/** Where to connect for an address that a cluster or Sentinel names: `{ '10.0.0.1:6379': 'example.com:7001' }`. */
export type NatMap = Readonly<Record<string, string>> | ((address: string) => string | undefined);

export interface ConnectOptions {
  readonly tls?: TlsOptions | undefined;
  readonly natMap?: NatMap | undefined;
  /** Login at the Sentinels, when they ask for one; the URL's is for the servers that hold data. */
  readonly sentinel?: { readonly username?: string; readonly password?: string } | undefined;
}

/** Throws `ERR_OPTION` for a setting that would be silently without effect. */
export function checkConnectOptions({ tls, natMap, sentinel }: ConnectOptions, address: Address | undefined): void {
  const refuse = (name: string, message: string): never => {
    throw new ComportaError('ERR_OPTION', `${name}: ${message}`, name);
  };
  if (address === undefined) {
    const name = tls ? 'tls' : natMap ? 'natMap' : sentinel ? 'sentinel' : undefined;
    if (name !== undefined) refuse(name, 'is for store URLs; set it on your client instead');
    return;
  }
  if (tls !== undefined && !address.isTls) refuse('tls', 'needs a rediss:// URL');
  if (natMap !== undefined && address.kind === 'single') refuse('natMap', 'needs a cluster or Sentinel URL');
  if (sentinel !== undefined && address.kind !== 'sentinel') refuse('sentinel', 'needs a redis-sentinel:// URL');
}

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Looks an address up; `undefined` when it is to be taken as it is. */
export function mapperOf(natMap: NatMap | undefined): (address: string) => HostPort | undefined {
  if (natMap === undefined) return () => undefined;
  const look = typeof natMap === 'function' ? natMap : (address: string) => natMap[address];
  return (address) => {
    const mapped = look(address);
    return mapped === undefined ? undefined : splitAddress(mapped);
  };
}

export function splitAddress(address: string): HostPort {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) };
}
