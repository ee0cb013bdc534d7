import { ComportaError, show } from '../core/errors.js';
import { clientIp } from './client-ip.js';
import { type IpBytes, parseNode } from './ip.js';
import { formatClient, ownerOf } from './ip-text.js';
import { memo } from './memo.js';
import { parseProxies } from './proxies.js';
import { watchForProxy } from './proxy-watch.js';
import type { RequestView } from './view.js';

export interface ClientIpOptions {
  /** Addresses, CIDRs or presets of proxies whose forwarding header is believed; none by default. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** The one header that those proxies write; `x-forwarded-for` by default. */
  readonly forwardedHeader?: string | undefined;
  /** Bits of an IPv6 address that name one client: 32 to 128, 64 by default. */
  readonly ipv6Prefix?: number | undefined;
  /** Told once when nearly all requests come from one peer that looks like an undeclared proxy. */
  readonly onProxySuspected?: (peer: string) => void;
}

/** Who sent a request. */
export interface Client {
  /** `203.0.113.9`, `2001:db8:1:2::/64`. */
  readonly name: string;
  readonly address: IpBytes;
}

/** Finds the client of a request; `undefined` when nobody can tell. */
export type ClientOf = (view: RequestView) => Client | undefined;

/** What one IPv6 client owns, usually. */
const IPV6_PREFIX = 64;

/** Answers remembered: enough for the busy clients, and bounded, because long headers are read afresh. */
const MEMO_MAX = 2048;
const MEMO_LENGTH_MAX = 128;

/** Makes a {@link ClientOf}; throws `ERR_PROXIES` or `ERR_OPTION` naming the option that cannot be meant. */
export function createClientOf(options: ClientIpOptions = {}): ClientOf {
  const { trustedProxies = [], forwardedHeader = 'x-forwarded-for', ipv6Prefix = IPV6_PREFIX } = options;
  const trusts = parseProxies(trustedProxies);
  const header = checkHeader(forwardedHeader);
  checkPrefix(ipv6Prefix);

  const find = (peer: string | undefined, values: readonly string[]): Client | undefined => {
    const ip = clientIp({ peer, values }, trusts, header === 'forwarded');
    return ip === undefined ? undefined : { name: formatClient(ip, ipv6Prefix), address: ownerOf(ip) };
  };
  const behindProxy = forwardedClient(header, find);
  const watch = watchForProxy(header, options.onProxySuspected ?? (() => {}));
  const peerOf = memo(MEMO_MAX, (peer) => ({ client: find(peer, []), trusted: trusts(parseNode(peer)) }));

  return (view) => {
    if (view.peerAddress === undefined) return behindProxy(view);
    const { client, trusted } = peerOf(view.peerAddress);
    if (client === undefined) return undefined;
    if (trusted) return behindProxy(view);
    watch(view.peerAddress, view);
    return client;
  };
}

/** Reads the header of a trusted peer; the usual case, one short line, is remembered. */
function forwardedClient(
  header: string,
  find: (peer: string | undefined, values: readonly string[]) => Client | undefined,
): ClientOf {
  const remembered = memo(MEMO_MAX, (claim) => {
    const space = claim.indexOf(' ');
    return find(space === 0 ? undefined : claim.slice(0, space), [claim.slice(space + 1)]);
  });
  return (view) => {
    const values = view.header(header);
    const [value = ''] = values;
    return values.length === 1 && value.length <= MEMO_LENGTH_MAX
      ? remembered(`${view.peerAddress ?? ''} ${value}`)
      : find(view.peerAddress, values);
  };
}

/** Name of the client that an address, with or without a port, is of; `undefined` for other texts. */
export function clientNameOf(address: string, ipv6Prefix: number = IPV6_PREFIX): string | undefined {
  const bytes = parseNode(address);
  return bytes === undefined ? undefined : formatClient(bytes, ipv6Prefix);
}

function checkHeader(header: unknown): string {
  if (typeof header === 'string' && /^[!#$%&'*+.^`|~\w-]+$/.test(header)) return header.toLowerCase();
  throw new ComportaError(
    'ERR_PROXIES',
    `forwardedHeader: expected a header's name, got ${show(header)}`,
    'forwardedHeader',
  );
}

function checkPrefix(bits: unknown): void {
  if (Number.isInteger(bits) && (bits as number) >= 32 && (bits as number) <= 128) return;
  throw new ComportaError('ERR_OPTION', `ipv6Prefix: expected 32 to 128 bits, got ${show(bits)}`, 'ipv6Prefix');
}
