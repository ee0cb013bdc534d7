/** An address as 4 (IPv4) or 16 (IPv6) bytes. IPv4-mapped IPv6 is IPv4, however it is spelled. */
export type IpBytes = readonly number[];

/** Longer texts are no address; a zone id may be long, but nobody's is this long. */
const TEXT_LENGTH_MAX = 128;

/** The address that a text spells, or `undefined`. Strict: no octal, no short IPv4. A zone id is dropped. */
export function parseIp(text: string): IpBytes | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined;
  if (!text.includes(':')) return parseIpv4(text);
  const bytes = parseIpv6(text);
  return bytes !== undefined && isMapped(bytes) ? bytes.slice(12) : bytes;
}

/** As {@link parseIp}, also with a port and brackets: `1.2.3.4:5678`, `[2001:db8::1]:443`. */
export function parseNode(text: string): IpBytes | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined;
  if (text.startsWith('[')) {
    const end = text.indexOf(']');
    const inside = text.slice(1, Math.max(1, end));
    return inside.includes(':') && isPort(text.slice(end + 1)) ? parseIp(inside) : undefined;
  }
  const colon = text.indexOf(':');
  if (colon < 0 || colon !== text.lastIndexOf(':')) return parseIp(text);
  return isPort(text.slice(colon)) ? parseIpv4(text.slice(0, colon)) : undefined;
}

/** Nothing, a port, or an obfuscated port as RFC 7239 allows. */
function isPort(text: string): boolean {
  return text === '' || /^:(\d{1,5}|_[\w.-]+)$/.test(text);
}

function parseIpv4(text: string): IpBytes | undefined {
  const parts = text.split('.', 5);
  if (parts.length !== 4) return undefined;
  const bytes: number[] = [];
  for (const part of parts) {
    const byte = parseDecimalByte(part);
    if (byte < 0) return undefined;
    bytes.push(byte);
  }
  return bytes;
}

/** 0 to 255 without leading zeros; -1 when the text is anything else. */
function parseDecimalByte(text: string): number {
  if (text === '' || text.length > 3 || (text.length > 1 && text.startsWith('0'))) return -1;
  let value = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value > 255 ? -1 : value;
}

function parseIpv6(text: string): number[] | undefined {
  const zone = text.indexOf('%');
  if (zone === text.length - 1) return undefined;
  const halves = (zone < 0 ? text : text.slice(0, zone)).split('::', 3);
  const [first = '', second] = halves;
  if (halves.length > 2) return undefined;
  const head = parseGroups(first, second === undefined);
  const tail = second === undefined ? [] : parseGroups(second, true);
  if (head === undefined || tail === undefined) return undefined;
  const gap = 16 - head.length - tail.length;
  if (second === undefined ? gap !== 0 : gap < 2) return undefined;
  return [...head, ...new Array<number>(gap).fill(0), ...tail];
}

/** Bytes of the groups between colons; dotted decimal may stand at the very end of an address only. */
function parseGroups(text: string, last: boolean): number[] | undefined {
  if (text === '') return [];
  const groups = text.split(':', 9);
  const bytes: number[] = [];
  for (const [i, group] of groups.entries()) {
    if (last && i === groups.length - 1 && group.includes('.')) {
      const dotted = parseIpv4(group);
      return dotted === undefined ? undefined : [...bytes, ...dotted];
    }
    if (!/^[0-9A-Fa-f]{1,4}$/.test(group)) return undefined;
    const value = Number.parseInt(group, 16);
    bytes.push(value >> 8, value & 255);
  }
  return bytes;
}

/** Decided by bits: `::ffff:1.2.3.4` and `::ffff:102:304` are one address. */
function isMapped(bytes: IpBytes): boolean {
  return bytes[10] === 255 && bytes[11] === 255 && hasPrefix(bytes, NO_BITS, 80);
}

const NO_BITS: IpBytes = new Array<number>(16).fill(0);

/** True when the first `bits` bits of both are equal; addresses of different families never match. */
export function hasPrefix(bytes: IpBytes, network: IpBytes, bits: number): boolean {
  if (bytes.length !== network.length) return false;
  const whole = bits >> 3;
  for (let i = 0; i < whole; i++) if (bytes[i] !== network[i]) return false;
  const rest = bits & 7;
  return rest === 0 || ((bytes[whole] ?? 0) ^ (network[whole] ?? 0)) >> (8 - rest) === 0;
}
