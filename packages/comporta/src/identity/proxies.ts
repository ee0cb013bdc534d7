import { ComportaError, show } from '../core/errors.js';
import { hasPrefix, type IpBytes, parseIp } from './ip.js';

/** Whose forwarding header is believed. `undefined` asks about a peer without an address: a unix socket. */
export type TrustedProxies = (address: IpBytes | undefined) => boolean;

interface Network {
  readonly bytes: IpBytes;
  readonly bits: number;
}

const PRESETS: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

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
  const preset = Object.hasOwn(PRESETS, entry) ? PRESETS[entry] : undefined;
  return (preset ?? [entry]).map((text) => parseCidr(text, field));
}

function parseCidr(text: string, field: string): Network {
  const [address = '', suffix, ...rest] = text.split('/');
  const bytes = parseIp(address);
  if (bytes === undefined || rest.length > 0) throw refusal(field, `${EXPECTED}, got ${show(text)}`);
  // A mapped address was shortened to IPv4, so its prefix counts from the 96th bit.
  const hidden = bytes.length === 4 && address.includes(':') ? 96 : 0;
  const most = bytes.length * 8;
  const bits = suffix === undefined ? most : /^\d{1,3}$/.test(suffix) ? Number(suffix) - hidden : -1;
  if (suffix !== undefined && Number(suffix) === 0) {
    throw refusal(
      field,
      `${show(text)} trusts every client to name its own address; write "${EVERYBODY}" if you mean it`,
    );
  }
  if (bits < 1 || bits > most) throw refusal(field, `expected a prefix of 1 to ${most} bits, got ${show(text)}`);
  return { bytes, bits };
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
