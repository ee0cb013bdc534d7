import type { Socket } from 'node:net';
import { parseIp, parseProxies } from 'comporta/http';

/** Whether the peer of a connection may speak for its clients. Asked once per connection. */
export type IsTrusted = (socket: Socket) => boolean;

/** Needs ranges that the configuration check let through. */
export function trustOf(ranges: readonly string[]): IsTrusted {
  if (ranges.length === 0) return () => false;
  const trusts = parseProxies(ranges);
  const known = new WeakMap<Socket, boolean>();
  return (socket) => {
    let isTrusted = known.get(socket);
    if (isTrusted === undefined) {
      isTrusted = trusts(socket.remoteAddress === undefined ? undefined : parseIp(socket.remoteAddress));
      known.set(socket, isTrusted);
    }
    return isTrusted;
  };
}

/** An address without the IPv6 wrapping of an IPv4 one and without a zone; empty when there is none. */
export function plainAddress(address: string | undefined): string {
  if (address === undefined) return '';
  const mapped = address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
  const zone = mapped.indexOf('%');
  return zone < 0 ? mapped : mapped.slice(0, zone);
}
