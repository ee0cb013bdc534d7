import { BlockList, isIPv6, type Socket } from 'node:net';

/** Whether the peer of a connection may speak for its clients. Asked once per connection. */
export type IsTrusted = (socket: Socket) => boolean;

/** The names that the library's own list of proxies knows. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
  unix: [],
};

/** Needs ranges that the configuration check let through. */
export function trustOf(ranges: readonly string[]): IsTrusted {
  if (ranges.length === 0) return () => false;
  if (ranges.includes('unsafe:all')) return () => true;
  const list = new BlockList();
  for (const range of ranges.flatMap((name) => NAMED[name] ?? [name])) {
    const [address = '', prefix] = range.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    list.addSubnet(address, Number(prefix ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  const known = new WeakMap<Socket, boolean>();
  return (socket) => {
    let isTrusted = known.get(socket);
    if (isTrusted === undefined) {
      const address = plainAddress(socket.remoteAddress);
      isTrusted = address !== '' && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
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
