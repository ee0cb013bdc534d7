export const SLOTS = 16_384;

/** The slot of a key: of its tag, the text between the first `{` and the next `}`, when not empty. */
export function slotOf(key: string): number {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  const tag = close > open + 1 ? key.slice(open + 1, close) : key;
  return crc16(Buffer.from(tag)) % SLOTS;
}

/** CRC-16/XMODEM, as the cluster specification says. */
function crc16(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}
