import { hasPrefix, type IpBytes } from './ip.js';

const NAT64: IpBytes = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const SIX_TO_FOUR: IpBytes = [0x20, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/** Text of an address: dotted decimal, or RFC 5952 for IPv6. */
export function formatIp(bytes: IpBytes): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups: number[] = [];
  for (let i = 0; i < 16; i += 2) groups.push(((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0));
  const [start, length] = longestZeros(groups);
  const hex = (part: readonly number[]) => part.map((group) => group.toString(16)).join(':');
  return length < 2 ? hex(groups) : `${hex(groups.slice(0, start))}::${hex(groups.slice(start + length))}`;
}

/** Start and length of the first longest run of zero groups. */
function longestZeros(groups: readonly number[]): readonly [start: number, length: number] {
  let best: readonly [number, number] = [0, 0];
  let length = 0;
  for (const [i, group] of groups.entries()) {
    length = group === 0 ? length + 1 : 0;
    if (length > best[1]) best = [i + 1 - length, length];
  }
  return best;
}

/** The address that is behind another: of a NAT64 address the IPv4 client inside it. */
export function ownerOf(bytes: IpBytes): IpBytes {
  return hasPrefix(bytes, NAT64, 96) ? bytes.slice(12) : bytes;
}

/**
 * Text that names one client. An IPv4 address names itself; of IPv6 only the first `prefixBits` count,
 * since one client owns all the rest: `2001:db8:1:2::/64`. A 6to4 site owns a /48, and a NAT64
 * address stands for the IPv4 client inside it.
 */
export function formatClient(bytes: IpBytes, prefixBits: number): string {
  const owner = ownerOf(bytes);
  if (owner.length === 4) return formatIp(owner);
  const bits = hasPrefix(bytes, SIX_TO_FOUR, 16) ? Math.min(48, prefixBits) : prefixBits;
  return bits === 128 ? formatIp(bytes) : `${formatIp(mask(bytes, bits))}/${bits}`;
}

/** An address with all bits after the first `bits` cleared. */
export function mask(bytes: IpBytes, bits: number): IpBytes {
  return bytes.map((byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, bits - i * 8))));
}
