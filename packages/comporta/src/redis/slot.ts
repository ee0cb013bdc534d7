/** CRC-16/XMODEM, as Redis Cluster uses it, a byte at a time. */
const TABLE: Uint16Array = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc & 0xffff;
});

/** Of a cluster. */
export const SLOTS = 16_384;

/** Slot (0 to 16383) of a hash tag, which is ASCII here by construction. */
export function slotOf(tag: string): number {
  let crc = 0;
  for (let i = 0; i < tag.length; i++) crc = ((crc << 8) & 0xffff) ^ (TABLE[(crc >> 8) ^ tag.charCodeAt(i)] as number);
  return crc % SLOTS;
}
