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
  for (const status of statuses) writeStatus(begin(writer, 2), status).ldelim();
  for (const [name, value] of headers) {
    begin(writer, 3).uint32(tagOf(1, true)).string(name).uint32(tagOf(2, true)).string(value).ldelim();
  }
  if (degraded !== undefined) {
    writeTexts(begin(writer, 6), { degraded: degraded.mode, cause: degraded.cause }).ldelim();
  }
  return writer.finish();
}

function writeStatus(writer: Writer, { isOver, limit, remaining, resetSeconds }: Status): Writer {
  writer.uint32(tagOf(1, false)).int32(isOver ? OVER_LIMIT : OK);
  if (limit !== undefined) {
    begin(writer, 2).uint32(tagOf(1, false)).uint32(Math.min(UINT32_MAX, limit.requestsPerUnit));
    writer.uint32(tagOf(2, false)).int32(numberOf(limit.unit));
    if (limit.name !== '') writer.uint32(tagOf(3, true)).string(limit.name);
    writer.ldelim();
  }
  if (remaining > 0) writer.uint32(tagOf(3, false)).uint32(Math.min(UINT32_MAX, remaining));
  if (resetSeconds !== undefined) begin(writer, 4).uint32(tagOf(1, false)).int64(resetSeconds).ldelim();
  return writer;
}

/** `google.protobuf.Struct` of texts. */
function writeTexts(writer: Writer, fields: Readonly<Record<string, string>>): Writer {
  for (const [name, value] of Object.entries(fields)) {
    begin(writer, 1).uint32(tagOf(1, true)).string(name);
    begin(writer, 2).uint32(tagOf(3, true)).string(value).ldelim().ldelim();
  }
  return writer;
}

/** Begins a message, which `ldelim` ends. */
const begin = (writer: Writer, field: number): Writer => writer.uint32(tagOf(field, true)).fork();
