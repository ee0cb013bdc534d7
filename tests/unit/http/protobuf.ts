/** Fields of a message of Protocol Buffers, by their numbers: whole numbers, or the bytes of the rest. */
export function decode(bytes: Buffer): readonly (readonly [field: number, value: number | Buffer])[] {
  const fields: (readonly [number, number | Buffer])[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let unit = 1; ; unit *= 128) {
      const byte = bytes.readUInt8(at++);
      value += (byte % 128) * unit;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const value = varint();
    if (tag % 8 === 0) fields.push([tag >> 3, value]);
    else if (tag % 8 === 2) {
      if (at + value > bytes.length) throw new Error(`field ${tag >> 3} is longer than the message`);
      fields.push([tag >> 3, bytes.subarray(at, at + value)]);
      at += value;
    } else throw new Error(`no type ${tag % 8} is expected`);
  }
  return fields;
}

/** What a `google.rpc.Status` says of when to try again. */
export function retryInfoIn(bytes: Buffer) {
  const [code, message, any] = valuesOf(bytes);
  const [type, info] = valuesOf(any as Buffer);
  const [delay] = valuesOf(info as Buffer);
  const parts = Object.fromEntries(decode(delay as Buffer));
  const delayMs = Number(parts[1] ?? 0) * 1000 + Number(parts[2] ?? 0) / 1e6;
  return { code, message: String(message), type: String(type), delayMs };
}

/** Values of fields that are all there, in order. */
function valuesOf(bytes: Buffer): readonly (number | Buffer)[] {
  return decode(bytes).map(([field, value], i) => {
    if (field !== i + 1) throw new Error(`field ${field} where ${i + 1} was expected`);
    return value;
  });
}
