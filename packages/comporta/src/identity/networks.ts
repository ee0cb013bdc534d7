import { type IpBytes, parseIp } from './ip.js';
import { mask } from './ip-text.js';

/** An address and how many of its bits count. */
export interface Network {
  readonly bytes: IpBytes;
  readonly bits: number;
}

const PRESETS: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** What a name such as `private` stands for; any other text stands for itself. */
export function namedNetworks(text: string): readonly string[] {
  return (Object.hasOwn(PRESETS, text) ? PRESETS[text] : undefined) ?? [text];
}

/** Reads an address or a CIDR; `undefined` for other texts. The bits may be out of range: see {@link hasGoodBits}. */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', suffix, ...rest] = text.split('/');
  const bytes = parseIp(address);
  if (bytes === undefined || rest.length > 0) return undefined;
  // A mapped address was shortened to IPv4, so its prefix counts from the 96th bit.
  const hidden = bytes.length === 4 && address.includes(':') ? 96 : 0;
  if (suffix === undefined) return { bytes, bits: bytes.length * 8 };
  return { bytes, bits: /^\d{1,3}$/.test(suffix) ? Number(suffix) - hidden : -1 };
}

/** A prefix of 0 bits would be everybody. */
export function hasGoodBits({ bytes, bits }: Network): boolean {
  return bits >= 1 && bits <= bytes.length * 8;
}

/** Many networks, asked at the cost of one look-up per different length of prefix. */
export class NetworkSet {
  readonly #v4: Map<number, Set<string>> = new Map();
  readonly #v6: Map<number, Set<string>> = new Map();

  constructor(networks: readonly Network[]) {
    for (const { bytes, bits } of networks) {
      const lengths = this.#lengthsOf(bytes);
      const prefixes = lengths.get(bits) ?? new Set();
      lengths.set(bits, prefixes.add(prefixOf(bytes, bits)));
    }
  }

  has(address: IpBytes): boolean {
    for (const [bits, prefixes] of this.#lengthsOf(address)) {
      if (prefixes.has(prefixOf(address, bits))) return true;
    }
    return false;
  }

  #lengthsOf(address: IpBytes): Map<number, Set<string>> {
    return address.length === 4 ? this.#v4 : this.#v6;
  }
}

const prefixOf = (bytes: IpBytes, bits: number): string => String.fromCharCode(...mask(bytes, bits));
