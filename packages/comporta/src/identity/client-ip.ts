import { entriesFromRight, forNode } from './forwarded.js';
import { type IpBytes, parseNode } from './ip.js';
import type { TrustedProxies } from './proxies.js';

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
export function clientIp({ peer, values }: Claim, trusts: TrustedProxies, isForwarded = false): IpBytes | undefined {
  let client = peer === undefined ? undefined : parseNode(peer);
  if (peer !== undefined && client === undefined) return undefined;
  if (!trusts(client)) return client;
  for (const entry of entriesFromRight(values, isForwarded)) {
    client = parseNode(isForwarded ? (forNode(entry) ?? '') : entry);
    if (client === undefined || !trusts(client)) return client;
  }
  return client;
}
