import protobuf from 'protobufjs/minimal.js';
import type { Descriptor, RateLimitRequest } from '../request.js';
import type { Entry } from '../rules.js';

type Reader = protobuf.Reader;

/** Reads one field, or leaves it to be passed over by answering false. */
type ReadField = (field: number, reader: Reader) => boolean;

/** Most bytes of a request, descriptors of it and entries of one: far more than any proxy sends. */
export const REQUEST_MAX_BYTES: number = 4 * 1024 * 1024;
const DESCRIPTORS_MAX = 10_000;
const ENTRIES_MAX = 1000;

/** The bytes are no request. */
export class Malformed extends Error {
  override readonly name: string = 'Malformed';
}

/** It is a request, but larger than is decided. */
export class TooLarge extends Error {
  override readonly name: string = 'TooLarge';
}

/** `envoy.service.ratelimit.v3.RateLimitRequest`; unknown fields are passed over. Throws {@link Malformed}. */
export function readRequest(bytes: Uint8Array): RateLimitRequest {
  try {
    return requestIn(protobuf.Reader.create(bytes));
  } catch (error) {
    if (error instanceof TooLarge) throw error;
    throw new Malformed('the request is not a RateLimitRequest');
  }
}

function requestIn(reader: Reader): RateLimitRequest {
  let domain = '';
  let hitsAddend = 0;
  const descriptors: Descriptor[] = [];
  readFields(reader, reader.len, (field) => {
    if (field === 1) domain = reader.string();
    else if (field === 2) {
      if (descriptors.length >= DESCRIPTORS_MAX) throw new TooLarge(`more than ${DESCRIPTORS_MAX} descriptors`);
      descriptors.push(descriptorIn(reader));
    } else if (field === 3) hitsAddend = reader.uint32();
    else return false;
    return true;
  });
  return { domain, descriptors, hitsAddend };
}

function descriptorIn(reader: Reader): Descriptor {
  const entries: Entry[] = [];
  let limit: Descriptor['limit'];
  let hitsAddend: number | undefined;
  let isNegativeHits = false;
  readMessage(reader, (field) => {
    if (field === 1) {
      if (entries.length >= ENTRIES_MAX) throw new TooLarge(`more than ${ENTRIES_MAX} entries in a descriptor`);
      entries.push(entryIn(reader));
    } else if (field === 2) limit = limitIn(reader);
    else if (field === 3) hitsAddend = wrappedNumberIn(reader);
    else if (field === 4) isNegativeHits = reader.bool();
    else return false;
    return true;
  });
  return { entries, limit, hitsAddend, isNegativeHits };
}

function entryIn(reader: Reader): Entry {
  let key = '';
  let value = '';
  readMessage(reader, (field) => {
    if (field === 1) key = reader.string();
    else if (field === 2) value = reader.string();
    else return false;
    return true;
  });
  return { key, value };
}

function limitIn(reader: Reader): Descriptor['limit'] {
  let requestsPerUnit = 0;
  let unit = 0;
  readMessage(reader, (field) => {
    if (field === 1) requestsPerUnit = reader.uint32();
    else if (field === 2) unit = reader.int32();
    else return false;
    return true;
  });
  return { requestsPerUnit, unit };
}

/** `google.protobuf.UInt64Value`. Numbers that are no safe integers stay so, and are refused by whoever reads them. */
function wrappedNumberIn(reader: Reader): number {
  let value = 0;
  readMessage(reader, (field) => {
    if (field !== 1) return false;
    value = Number(reader.uint64());
    return true;
  });
  return value;
}

const readMessage = (reader: Reader, read: ReadField): void => readFields(reader, endOf(reader), read);

function endOf(reader: Reader): number {
  const length = reader.uint32();
  const end = reader.pos + length;
  if (end > reader.len) throw new RangeError('a message ends before its length');
  return end;
}

function readFields(reader: Reader, end: number, read: ReadField): void {
  while (reader.pos < end) {
    const tag = reader.uint32();
    const field = tag >>> 3;
    if (field === 0) throw new RangeError('field 0');
    if (!read(field, reader)) reader.skipType(tag & 7);
  }
  if (reader.pos !== end) throw new RangeError('a field reaches beyond its message');
}
