/** `google.rpc.Status` with a `google.rpc.RetryInfo`, as Protocol Buffers write them; see `docs/grpc.md`. */
export function retryStatus(code: number, message: string, retryAfterMs: number): Uint8Array {
  const delayMs = Math.ceil(retryAfterMs);
  const delay = [...number(1, Math.floor(delayMs / 1000)), ...number(2, (delayMs % 1000) * 1e6)];
  const any = [...text(1, 'type.googleapis.com/google.rpc.RetryInfo'), ...bytes(2, bytes(1, delay))];
  return Uint8Array.from([...number(1, code), ...text(2, message), ...bytes(3, any)]);
}

/** A field of wire type 0; zero is what readers assume of a field that is missing. */
const number = (field: number, value: number): number[] => (value === 0 ? [] : [field * 8, ...varint(value)]);

/** A field of wire type 2. */
const bytes = (field: number, content: readonly number[]): number[] => [
  field * 8 + 2,
  ...varint(content.length),
  ...content,
];

const text = (field: number, value: string): number[] => bytes(field, [...new TextEncoder().encode(value)]);

/** Seven bits a byte, the lowest first; by division, since shifts cut at 32 bits. */
function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}
