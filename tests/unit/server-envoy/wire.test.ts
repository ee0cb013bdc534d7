import fc from 'fast-check';
import protobuf from 'protobufjs';
import { describe, expect, test } from 'vitest';
import type { Degraded } from '../../../packages/comporta/src/core/decision.js';
import type { RateLimitRequest } from '../../../packages/server/src/envoy/request.js';
import { UNITS } from '../../../packages/server/src/envoy/units.js';
import { Malformed, readRequest, TooLarge } from '../../../packages/server/src/envoy/wire/read.js';
import { writeAnswer } from '../../../packages/server/src/envoy/wire/write.js';

const root = new protobuf.Root();
root.resolvePath = (_, target) => new URL(`../../../packages/server/proto/${target}`, import.meta.url).pathname;
root.loadSync('envoy/service/ratelimit/v3/rls.proto', { keepCase: true });
const requestType = root.lookupType('envoy.service.ratelimit.v3.RateLimitRequest');
const responseType = root.lookupType('envoy.service.ratelimit.v3.RateLimitResponse');

const uint32 = fc.oneof(fc.nat(), fc.constantFrom(0, 1, 2 ** 31, 2 ** 32 - 1));
const text = fc.string({ unit: 'binary' });

const descriptor = fc.record({
  entries: fc.array(fc.record({ key: text, value: text }), { maxLength: 4 }),
  limit: fc.option(fc.record({ requestsPerUnit: uint32, unit: fc.integer({ min: 0, max: 7 }) }), { nil: undefined }),
  hitsAddend: fc.option(fc.nat({ max: Number.MAX_SAFE_INTEGER }), { nil: undefined }),
  isNegativeHits: fc.boolean(),
});
const request: fc.Arbitrary<RateLimitRequest> = fc.record({
  domain: text,
  descriptors: fc.array(descriptor, { maxLength: 4 }),
  hitsAddend: uint32,
});

/** The same request as the protobuf library writes it. */
function written({ domain, descriptors, hitsAddend }: RateLimitRequest): Uint8Array {
  return requestType
    .encode({
      domain,
      hits_addend: hitsAddend,
      descriptors: descriptors.map(({ entries, limit, hitsAddend: hits, isNegativeHits }) => ({
        entries,
        ...(limit && { limit: { requests_per_unit: limit.requestsPerUnit, unit: limit.unit } }),
        ...(hits !== undefined && { hits_addend: { value: hits } }),
        is_negative_hits: isNegativeHits,
      })),
    })
    .finish();
}

describe('a request', () => {
  test('is read as the protobuf library wrote it', () => {
    fc.assert(
      fc.property(request, (one) => {
        expect(readRequest(written(one))).toEqual(one);
      }),
    );
  });

  test('that is cut, changed or made up is read, or refused as such, and never anything else', () => {
    const mutated = fc
      .tuple(request, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 8 }), fc.nat())
      .map(([one, changes, cut]) => {
        const bytes = Buffer.from(written(one));
        for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte;
        return bytes.subarray(0, bytes.length - (cut % (bytes.length + 1)));
      });
    const isRequest = (bytes: Uint8Array): void => {
      try {
        const { descriptors } = readRequest(bytes);
        expect(descriptors.length).toBeLessThanOrEqual(bytes.length);
      } catch (error) {
        expect(error instanceof Malformed || error instanceof TooLarge).toBe(true);
      }
    };
    fc.assert(fc.property(mutated, isRequest), { numRuns: 2000 });
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), isRequest), { numRuns: 2000 });
  });

  test('with groups nested without end is refused', () => {
    expect(() => readRequest(Buffer.alloc(1_000_000, 0x0b))).toThrow(Malformed);
  });
});

describe('an answer', () => {
  const degraded = fc.constantFrom<Degraded>(
    { mode: 'local', cause: 'timeout', detail: 'redis-7.internal' },
    { mode: 'open', cause: 'unavailable', detail: 'redis-7.internal' },
  );
  const status = fc.record({
    isOver: fc.boolean(),
    limit: fc.option(fc.record({ requestsPerUnit: uint32, unit: fc.constantFrom(...UNITS), name: text }), {
      nil: undefined,
    }),
    remaining: uint32,
    resetSeconds: fc.option(fc.nat({ max: 40_000_000 }), { nil: undefined }),
    degraded: fc.constant(undefined),
    isQuota: fc.boolean(),
    hits: fc.constant(undefined),
  });
  const answer = fc.record({
    isOver: fc.boolean(),
    statuses: fc.array(status, { maxLength: 4 }),
    headers: fc.array(fc.tuple(text, text), { maxLength: 3 }),
    degraded: fc.option(degraded, { nil: undefined }),
    isUnavailable: fc.constant(false),
    isDomainKnown: fc.boolean(),
  });

  test('is what the protobuf library reads, and never says UNKNOWN or where the store is', () => {
    fc.assert(
      fc.property(answer, (one) => {
        const bytes = writeAnswer(one);
        const read = responseType.toObject(responseType.decode(bytes), {
          enums: String,
          longs: Number,
          defaults: true,
        });
        expect(read.overall_code).toBe(one.isOver ? 'OVER_LIMIT' : 'OK');
        expect(read.statuses.length).toBe(one.statuses.length);
        for (const [i, { isOver, limit, remaining, resetSeconds }] of one.statuses.entries()) {
          const found = read.statuses[i];
          expect([found.code, found.limit_remaining]).toEqual([isOver ? 'OVER_LIMIT' : 'OK', remaining]);
          const {
            requestsPerUnit: requests_per_unit,
            unit,
            name,
          } = limit ?? { requestsPerUnit: 0, unit: '', name: '' };
          expect(found.current_limit).toEqual(limit === undefined ? null : { requests_per_unit, unit, name });
          expect(found.duration_until_reset?.seconds).toBe(resetSeconds);
        }
        const headers = read.response_headers_to_add.map(({ key, value }: Record<string, string>) => [key, value]);
        expect(headers).toEqual(one.headers);
        expect(read.dynamic_metadata?.fields.degraded?.stringValue).toBe(one.degraded?.mode);
        expect(Buffer.from(bytes).toString('latin1')).not.toContain('redis-7');
      }),
    );
  });
});
