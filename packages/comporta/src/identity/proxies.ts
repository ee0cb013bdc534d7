import { ComportaError, show } from '../core/errors.js';
import { hasPrefix, type IpBytes } from './ip.js';
import { hasGoodBits, type Network, namedNetworks, parseNetwork } from './networks.js';

/** Whose forwarding header is believed. `undefined` asks about a peer without an address: a unix socket. */
export type TrustedProxies = (address: IpBytes | undefined) => boolean;

const UNIX = 'unix';
const EVERYBODY = 'unsafe:all';
const EXPECTED = 'expected addresses, CIDRs, "loopback", "linklocal", "private" or "unix"';

/** Reads the list of trusted proxies; throws `ERR_PROXIES` naming the entry that cannot be meant. */
export function parseProxies(value: unknown, field = 'trustedProxies'): TrustedProxies {
  if (!Array.isArray(value)) throw refusal(field, `${EXPECTED} in a list, got ${show(value)}${hint(value)}`);
  const entries: readonly unknown[] = value;
  const words = new Set([UNIX, EVERYBODY].filter((word) => entries.includes(word)));
  const networks = entries.flatMap((entry, i) =>
    words.has(entry as string) ? [] : networksOf(entry, `${field}[${i}]`),
  );
  if (words.has(EVERYBODY)) return () => true;
  const unix = words.has(UNIX);
  return (address) =>
    address === undefined ? unix : networks.some(({ bytes, bits }) => hasPrefix(address, bytes, bits));
}

function networksOf(entry: unknown, field: string): readonly Network[] {
  if (typeof entry !== 'string') throw refusal(field, `${EXPECTED}, got ${show(entry)}${hint(entry)}`);
  return namedNetworks(entry).map((text) => parseCidr(text, field));
}

function parseCidr(text: string, field: string): Network {
  const network = parseNetwork(text);
  if (network === undefined) throw refusal(field, `${EXPECTED}, got ${show(text)}`);
  if (/\/0*$/.test(text)) {
    throw refusal(
      field,
      `${show(text)} trusts every client to name its own address; write "${EVERYBODY}" if you mean it`,
    );
  }
  if (hasGoodBits(network)) return network;
  throw refusal(field, `expected a prefix of 1 to ${network.bytes.length * 8} bits, got ${show(text)}`);
}

/** The two spellings that other limiters take, and why they are refused here. */
function hint(value: unknown): string {
  if (typeof value === 'number')
    return '; a hop count does not check who the peer is, so list the addresses of your proxies';
  if (value === true)
    return `; it would trust every client to name its own address; write "${EVERYBODY}" if you mean it`;
  return '';
}

function refusal(field: string, message: string): ComportaError {
  return new ComportaError('ERR_PROXIES', `${field}: ${message}`, field);
}
