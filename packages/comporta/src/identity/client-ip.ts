import { ComportaError, show } from '../core/errors.js';
import { entriesFromRight, forNode } from './forwarded.js';
import { type IpBytes, parseNode } from './ip.js';
import { formatClient } from './ip-text.js';
import { memo } from './memo.js';
import { parseProxies, type TrustedProxies } from './proxies.js';
import type { RequestView } from './view.js';

export interface ClientIpOptions {
  /** Addresses, CIDRs or presets of proxies whose forwarding header is believed; none by default. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** The one header that those proxies write; `x-forwarded-for` by default. */
  readonly forwardedHeader?: string | undefined;
  /** Bits of an IPv6 address that name one client: 32 to 128, 64 by default. */
  readonly ipv6Prefix?: number | undefined;
}

/** Who sent a request, as the socket and the trusted proxies tell it. */
export interface Claim {
  readonly peer: string | undefined;
  /** Lines of the forwarding header, in order. */
  readonly values: readonly string[];
}

/**
 * The client's address. An untrusted peer is the client itself. Behind a trusted one the header is
 * read from the right: the first address that is not trusted is the client, or the leftmost when all
 * are. An entry that is no address ends the walk with `undefined`: what stands left of it is hearsay.
 */
export function clientIp(claim: Claim, trusts: TrustedProxies, isForwarded = false): IpBytes | undefined {
  let client = claim.peer === undefined ? undefined : parseNode(claim.peer);
  if (claim.peer !== undefined && client === undefined) return undefined;
  if (!trusts(client)) return client;
  for (const entry of entriesFromRight(claim.values, isForwarded)) {
    client = parseNode(isForwarded ? (forNode(entry) ?? '') : entry);
    if (client === undefined || !trusts(client)) return client;
  }
  return client;
}

/** Addresses remembered per reader; enough for the busy ones, small beside a request. */
const MEMO_MAX = 2048;
/** Longer headers are read afresh, so that the memory of a memo stays bounded too. */
const MEMO_LENGTH_MAX = 128;

/** Makes the function that names the client of a request: `203.0.113.9`, `2001:db8:1:2::/64` or `undefined`. */
export function createClientIp(options: ClientIpOptions = {}): (view: RequestView) => string | undefined {
  const { trustedProxies = [], forwardedHeader = 'x-forwarded-for', ipv6Prefix = 64 } = options;
  const trusts = parseProxies(trustedProxies);
  const header = checkHeader(forwardedHeader);
  const isForwarded = header === 'forwarded';
  checkPrefix(ipv6Prefix);
  const name = (peer: string | undefined, values: readonly string[]): string | undefined => {
    const ip = clientIp({ peer, values }, trusts, isForwarded);
    return ip === undefined ? undefined : formatClient(ip, ipv6Prefix);
  };
  const nameOf = memo(MEMO_MAX, (peer) => name(peer, []));
  const isTrusted = memo(MEMO_MAX, (peer) => trusts(parseNode(peer)));
  const trustsUnix = trusts(undefined);
  // Behind any trusted peer the answer depends on the header alone, unless that is empty.
  const nameBehind = memo(MEMO_MAX, (value) => name(undefined, [value]));
  const named = trustsUnix ? nameBehind : memo(MEMO_MAX, (value) => nameOfTrusted(value));
  const nameOfTrusted = (value: string): string | undefined => {
    const ip = clientIp({ peer: undefined, values: [value] }, (address) => address === undefined || trusts(address), isForwarded);
    return ip === undefined ? undefined : formatClient(ip, ipv6Prefix);
  };
  return ({ peerAddress: peer, header: _ }) => named(peer ?? '');
}

function checkHeader(header: unknown): string {
  if (typeof header === 'string' && /^[!#$%&'*+.^`|~\w-]+$/.test(header)) return header.toLowerCase();
  throw new ComportaError('ERR_PROXIES', `forwardedHeader: expected a header's name, got ${show(header)}`, 'forwardedHeader');
}

function checkPrefix(bits: unknown): void {
  if (Number.isInteger(bits) && (bits as number) >= 32 && (bits as number) <= 128) return;
  throw new ComportaError('ERR_OPTION', `ipv6Prefix: expected 32 to 128 bits, got ${show(bits)}`, 'ipv6Prefix');
}
