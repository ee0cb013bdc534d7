import { globalValue } from './globals.js';

/**
 * SHA-1 (names of cached scripts) and SHA-256 (long or private subjects), synchronous and free of
 * imports, since edge runtimes have only asynchronous digests. Tested against `node:crypto`.
 */
const utf8: TextEncoder = new TextEncoder();

/** Hex SHA-1 of a text's UTF-8 bytes. */
export function sha1Hex(text: string): string {
  const state = new Uint32Array([0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0]);
  const w = new Uint32Array(80);
  for (const block of blocks(utf8.encode(text))) {
    for (let i = 0; i < 80; i++) {
      w[i] = i < 16 ? block.getUint32(i * 4) : rotl(at(w, i - 3) ^ at(w, i - 8) ^ at(w, i - 14) ^ at(w, i - 16), 1);
    }
    let [a, b, c, d, e] = state as unknown as [number, number, number, number, number];
    for (let i = 0; i < 80; i++) {
      const round = Math.floor(i / 20);
      const mix = round === 0 ? (b & c) | (~b & d) : round === 2 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
      const next = (rotl(a, 5) + mix + e + at(SHA1_K, round) + at(w, i)) >>> 0;
      [a, b, c, d, e] = [next, a, rotl(b, 30), c, d];
    }
    add(state, [a, b, c, d, e]);
  }
  return hex(state);
}

/** SHA-256 of bytes, as 32 bytes. */
export function sha256(bytes: Uint8Array): Uint8Array {
  const state = SHA256_START.slice();
  const w = new Uint32Array(64);
  for (const block of blocks(bytes)) {
    for (let i = 0; i < 64; i++) w[i] = i < 16 ? block.getUint32(i * 4) : extend(w, i);
    add(state, compress(state, w));
  }
  const out = new Uint8Array(32);
  const view = new DataView(out.buffer);
  state.forEach((word, i) => {
    view.setUint32(i * 4, word);
  });
  return out;
}

/** What is used of `node:crypto`. */
interface NodeCrypto {
  createHash(name: 'sha256'): Digesting;
  createHmac(name: 'sha256', secret: string): Digesting;
}

interface Digesting {
  update(text: string, encoding: 'utf16le'): { digest(encoding: 'hex'): string };
}

/** Where there is one: by it a long text costs a hundredth. */
const nodeCrypto = (): NodeCrypto | null => {
  const host = globalValue('process') as { getBuiltinModule?(name: string): NodeCrypto | undefined } | undefined;
  return host?.getBuiltinModule?.('crypto') ?? null;
};

/** Hex SHA-256 of a text's UTF-16 code units, low byte first; with a secret, hex HMAC-SHA-256. */
export function digestHex(text: string, secret?: string, crypto: NodeCrypto | null = nodeCrypto()): string {
  if (crypto !== null) {
    const digesting = secret === undefined ? crypto.createHash('sha256') : crypto.createHmac('sha256', secret);
    return digesting.update(text, 'utf16le').digest('hex');
  }
  const bytes = utf16(text);
  const digest = secret === undefined ? sha256(bytes) : hmac(utf8.encode(secret), bytes);
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Unlike UTF-8 this keeps lone surrogates apart. */
function utf16(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length * 2);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    bytes[i * 2] = unit & 0xff;
    bytes[i * 2 + 1] = unit >>> 8;
  }
  return bytes;
}

function hmac(secret: Uint8Array, message: Uint8Array): Uint8Array {
  const key = new Uint8Array(64);
  key.set(secret.length > 64 ? sha256(secret) : secret);
  const pad = (mask: number, body: Uint8Array) =>
    concat(
      key.map((byte) => byte ^ mask),
      body,
    );
  return sha256(pad(0x5c, sha256(pad(0x36, message))));
}

/** Plain variables: a list per round would make a long text cost ten times as much. */
function compress(state: Uint32Array, w: Uint32Array): number[] {
  let [a, b, c, d] = [at(state, 0), at(state, 1), at(state, 2), at(state, 3)];
  let [e, f, g, h] = [at(state, 4), at(state, 5), at(state, 6), at(state, 7)];
  for (let i = 0; i < 64; i++) {
    const s1 = rotl(e, 26) ^ rotl(e, 21) ^ rotl(e, 7);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + at(SHA256_K, i) + at(w, i)) >>> 0;
    const s0 = rotl(a, 30) ^ rotl(a, 19) ^ rotl(a, 10);
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) >>> 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) >>> 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) >>> 0;
  }
  return [a, b, c, d, e, f, g, h];
}

function extend(w: Uint32Array, i: number): number {
  const x = at(w, i - 15);
  const y = at(w, i - 2);
  const s0 = rotl(x, 25) ^ rotl(x, 14) ^ (x >>> 3);
  const s1 = rotl(y, 15) ^ rotl(y, 13) ^ (y >>> 10);
  return (at(w, i - 16) + s0 + at(w, i - 7) + s1) >>> 0;
}

/** Message blocks of 64 bytes with the standard padding: 0x80, zeros, length in bits. */
function* blocks(bytes: Uint8Array): Generator<DataView> {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, (bytes.length << 3) >>> 0);
  for (let i = 0; i < padded.length; i += 64) yield new DataView(padded.buffer, i, 64);
}

const at = (words: Uint32Array, i: number): number => words[i] as number;
const rotl = (x: number, n: number): number => ((x << n) | (x >>> (32 - n))) >>> 0;
const hex = (words: Uint32Array): string => Array.from(words, (word) => word.toString(16).padStart(8, '0')).join('');

function add(state: Uint32Array, words: readonly number[]): void {
  words.forEach((word, i) => {
    state[i] = at(state, i) + word;
  });
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const out = new Uint8Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}

/** First 32 bits of the fractional parts of roots of the primes: what FIPS 180-4 defines. */
function primeRoots(count: number, exponent: number): Uint32Array {
  const words = new Uint32Array(count);
  for (let n = 2, found = 0; found < count; n++) {
    if (isPrime(n)) words[found++] = (n ** exponent % 1) * 2 ** 32;
  }
  return words;
}

function isPrime(n: number): boolean {
  for (let d = 2; d * d <= n; d++) if (n % d === 0) return false;
  return true;
}

const SHA1_K: Uint32Array = new Uint32Array([0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6]);
const SHA256_K: Uint32Array = primeRoots(64, 1 / 3);
const SHA256_START: Uint32Array = primeRoots(8, 1 / 2);
