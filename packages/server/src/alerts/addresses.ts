import { type LookupAddress, lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { parseIp, parseProxies } from 'comporta/http';

/** Networks that no public service lives in: what an attacker who can choose an address would aim at. */
const isListed: ReturnType<typeof parseProxies> = parseProxies([
  'loopback',
  'linklocal',
  'private',
  '0.0.0.0/8',
  '100.64.0.0/10',
  '192.0.0.0/24',
  '198.18.0.0/15',
  '224.0.0.0/3',
  // Unspecified and IPv4-compatible, local NAT64, Teredo, 6to4, site-local, multicast.
  '::/96',
  '64:ff9b:1::/48',
  '2001::/32',
  '2002::/16',
  'fec0::/10',
  'ff00::/8',
]);

const isNat64: ReturnType<typeof parseProxies> = parseProxies(['64:ff9b::/96']);

/** Whether a text is an address of a private network or of this machine. False for names. */
export function isPrivateAddress(text: string): boolean {
  const bytes = parseIp(text);
  if (bytes === undefined) return false;
  return isListed(bytes) || (isNat64(bytes) && isListed(bytes.slice(12)));
}

/** Why an address of a sink may not be used, or `undefined`. Says nothing of what a name resolves to. */
export function urlFault(url: string): string | undefined {
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'https:') return 'not encrypted: expected https://';
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return 'names this machine';
  return isPrivateAddress(host) ? 'names a private, loopback or link-local address' : undefined;
}

export const REFUSED_ADDRESS = 'ERR_PRIVATE_ADDRESS';

/** The form of `dns.lookup` for all addresses of a name. */
export type Resolve = (
  name: string,
  options: { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

/**
 * Resolves a name to public addresses only, for the very connection that is being made: a name that
 * changes its mind after a check cannot lead inside.
 */
export function publicLookup(resolve: Resolve = lookup): LookupFunction {
  return (name, options, callback) => {
    resolve(name, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, []);
      const allowed = found.filter(({ address }) => !isPrivateAddress(address));
      const [first] = allowed;
      if (first === undefined) {
        return callback(Object.assign(new Error('resolves to private addresses'), { code: REFUSED_ADDRESS }), []);
      }
      return options.all === true ? callback(null, allowed) : callback(null, first.address, first.family);
    });
  };
}
