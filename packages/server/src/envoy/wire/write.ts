import protobuf from 'protobufjs/minimal.js';
import type { Status } from '../answer.js';
import type { RateLimitAnswer } from '../service.js';
import { numberOf } from '../units.js';

type Writer = protobuf.Writer;

const UINT32_MAX = 2 ** 32 - 1;
const OK = 1;
const OVER_LIMIT = 2;

/** Wire types: a number, and bytes with their length. */
const tagOf = (field: number, isBytes: boolean): number => (field << 3) | (isBytes ? 2 : 0);

/** `envoy.service.ratelimit.v3.RateLimitResponse`. */
export function writeAnswer({ isOver, statuses, headers, degraded }: RateLimitAnswer): Uint8Array {
  const writer = protobuf.Writer.create();
  writer.uint32(tagOf(1, false)).int32(isOver ? OVER_LIMIT : OK);
  for (const status of statuses) writeMessage(writer, 2, () => writeStatus(writer, status));
  for (const [name, value] of headers) {
    writeMessage(writer, 3, () => writer.uint32(tagOf(1, true)).string(name).uint32(tagOf(2, true)).string(value));
  }
  if (degraded !== undefined)
    writeMessage(writer, 6, () => writeText(writer, { degraded: degraded.mode, cause: degraded.cause }));
  return writer.finish();
}

function writeStatus(writer: Writer, { isOver, limit, remaining, resetSeconds }: Status): void {
  writer.uint32(tagOf(1, false)).int32(isOver ? OVER_LIMIT : OK);
  if (limit !== undefined) {
    writeMessage(writer, 2, () => {
      writer.uint32(tagOf(1, false)).uint32(Math.min(UINT32_MAX, limit.requestsPerUnit));
      writer.uint32(tagOf(2, false)).int32(numberOf(limit.unit));
      if (limit.name !== '') writer.uint32(tagOf(3, true)).string(limit.name);
    });
  }
  if (remaining > 0) writer.uint32(tagOf(3, false)).uint32(Math.min(UINT32_MAX, remaining));
  if (resetSeconds !== undefined) writeMessage(writer, 4, () => writer.uint32(tagOf(1, false)).int64(resetSeconds));
}

/** `google.protobuf.Struct` of texts. */
function writeText(writer: Writer, fields: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(fields)) {
    writeMessage(writer, 1, () => {
      writer.uint32(tagOf(1, true)).string(name);
      writeMessage(writer, 2, () => writer.uint32(tagOf(3, true)).string(value));
    });
  }
}

function writeMessage(writer: Writer, field: number, write: () => void): void {
  writer.uint32(tagOf(field, true)).fork();
  write();
  writer.ldelim();
}
