import { z } from 'zod';
import { degradedWords, type Words } from '../access-log/entry.js';
import type { Status } from '../envoy/answer.js';
import { failureOf } from '../envoy/grpc/failure.js';
import { type Answered, codeOf } from '../envoy/grpc/should-rate-limit.js';
import { nameOf } from '../envoy/names.js';
import { BadRequest, type Descriptor, type RateLimitRequest } from '../envoy/request.js';
import type { RateLimitAnswer, RateLimitService } from '../envoy/service.js';
import { numberOf, unitNamed } from '../envoy/units.js';
import { monotonicMs } from '../time.js';
import { json, problem, problemSchema, Refusal } from './problem.js';
import { jsonRoute, type Route } from './route.js';

/** The JSON form of Envoy's messages (protojson): names in both spellings, numbers also as texts. */

const UINT32_MAX = 2 ** 32 - 1;
const DESCRIPTORS_MAX = 1000;
const ENTRIES_MAX = 1000;

const uint = (most: number): z.ZodType<number | string> =>
  z.union([z.int().min(0).max(most), z.string().regex(/^\d{1,16}$/, 'expected a whole number')]);

const unit = z.union([z.enum(['UNKNOWN', 'SECOND', 'MINUTE', 'HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR']), z.int()]);

const limit = z.strictObject({
  requestsPerUnit: uint(UINT32_MAX).optional(),
  requests_per_unit: uint(UINT32_MAX).optional(),
  unit: unit.optional(),
});

const descriptor = z.strictObject({
  entries: z
    .array(z.strictObject({ key: z.string().optional(), value: z.string().optional() }))
    .max(ENTRIES_MAX)
    .optional(),
  limit: limit.optional(),
  hitsAddend: uint(Number.MAX_SAFE_INTEGER).optional(),
  hits_addend: uint(Number.MAX_SAFE_INTEGER).optional(),
  isNegativeHits: z.boolean().optional(),
  is_negative_hits: z.boolean().optional(),
});

const body = z.strictObject({
  domain: z.string().optional().describe('Domain of the file that `envoy.config` names.'),
  descriptors: z.array(descriptor).max(DESCRIPTORS_MAX).optional(),
  hitsAddend: uint(UINT32_MAX).optional().describe('Cost where a descriptor has none of its own; 1 when left out.'),
  hits_addend: uint(UINT32_MAX).optional(),
});

const code = z.enum(['OK', 'OVER_LIMIT']);
const status = z.object({
  code,
  currentLimit: z
    .object({ name: z.string().optional(), requestsPerUnit: z.int().optional(), unit: z.string() })
    .optional(),
  limitRemaining: z.int().optional().describe('Left out when 0.'),
  durationUntilReset: z.string().optional().describe('Seconds, such as `34s`.'),
});
const schema = z.object({
  overallCode: code,
  statuses: z.array(status),
  responseHeadersToAdd: z.array(z.object({ key: z.string(), value: z.string() })).optional(),
});

/** `/json` of envoyproxy/ratelimit: `ShouldRateLimit` for callers that speak no gRPC. */
export const rateLimitRoute: Route = jsonRoute({
  path: '/json',
  access: 'token',
  summary: 'Twin of `/json` of envoyproxy/ratelimit: decides by domain and descriptors.',
  body,
  example: { domain: 'apis', descriptors: [{ entries: [{ key: 'generic_key', value: 'v1' }] }] },
  outcomes: {
    200: { means: 'Not over a limit.', schema },
    404: { means: 'There is no `envoy` section.', schema: problemSchema, type: 'application/problem+json' },
    429: { means: 'Over a limit.', schema, type: 'application/json' },
    503: {
      means: 'Nobody can count at the moment, and a rule refuses then; or this process is ending.',
      schema: problemSchema,
      type: 'application/problem+json',
    },
  },
  answer: async ({ state }, given) => {
    const service = state.rateLimitService();
    if (service === undefined)
      throw new Refusal(404, 'Descriptors are not served: the configuration has no envoy section.');
    const answer = await decide(service, requestOf(given), state.onRateLimit);
    const words = wordsOf(answer, nameOf(given.domain ?? ''));
    if (answer.isUnavailable) {
      return { ...problem(new Refusal(503, 'Requests cannot be counted at the moment.', RETRY)), words };
    }
    return { ...json(answer.isOver ? 429 : 200, worded(answer)), words };
  },
});

const RETRY = { headers: [['retry-after', '1']] } as const;

async function decide(
  service: RateLimitService,
  request: RateLimitRequest,
  tell: (answered: Answered) => void,
): Promise<RateLimitAnswer> {
  const startMs = monotonicMs();
  const told = (code: Answered['code'], answer?: RateLimitAnswer): void =>
    tell({ domain: request.domain, code, answer, durationMs: monotonicMs() - startMs });
  try {
    const answer = await service.decide(request);
    told(codeOf(answer), answer);
    return answer;
  } catch (error) {
    told(failureOf(error).code);
    if (!(error instanceof BadRequest)) throw error;
    const [field = ''] = error.message.split(': ', 1);
    throw new Refusal(400, error.message, { field });
  }
}

/** For the access log. A domain that is not known is only the caller's text. */
function wordsOf({ isOver, isUnavailable, isDomainKnown, degraded }: RateLimitAnswer, policy: string): Words {
  return {
    outcome: isUnavailable ? 'error' : isOver ? 'denied' : 'allowed',
    ...(isDomainKnown && { policy }),
    ...degradedWords(degraded),
  };
}

type Given = z.output<typeof body>;
type GivenDescriptor = z.output<typeof descriptor>;

function requestOf({ domain = '', descriptors = [], ...hits }: Given): RateLimitRequest {
  return {
    domain,
    descriptors: descriptors.map(descriptorOf),
    hitsAddend: Number(hits.hitsAddend ?? hits.hits_addend ?? 0),
  };
}

function descriptorOf(given: GivenDescriptor): Descriptor {
  const { entries = [], limit: override } = given;
  const hits = given.hitsAddend ?? given.hits_addend;
  return {
    entries: entries.map(({ key = '', value = '' }) => ({ key, value })),
    limit: override && {
      requestsPerUnit: Number(override.requestsPerUnit ?? override.requests_per_unit ?? 0),
      unit: unitNumber(override.unit),
    },
    hitsAddend: hits === undefined ? undefined : Number(hits),
    isNegativeHits: given.isNegativeHits ?? given.is_negative_hits,
  };
}

function unitNumber(given: string | number | undefined): number {
  if (typeof given === 'number') return given;
  const named = unitNamed(given);
  return named === undefined ? 0 : numberOf(named);
}

/** As protojson writes it: what is 0 or empty is left out. */
function worded({ isOver, statuses, headers }: RateLimitAnswer): z.input<typeof schema> {
  return {
    overallCode: isOver ? 'OVER_LIMIT' : 'OK',
    statuses: statuses.map(wordedStatus),
    ...(headers.length > 0 && { responseHeadersToAdd: headers.map(([key, value]) => ({ key, value })) }),
  };
}

function wordedStatus({ isOver, limit: of, remaining, resetSeconds }: Status): z.input<typeof status> {
  return {
    code: isOver ? 'OVER_LIMIT' : 'OK',
    ...(of !== undefined && {
      currentLimit: {
        ...(of.name !== '' && { name: of.name }),
        ...(of.requestsPerUnit > 0 && { requestsPerUnit: Math.min(UINT32_MAX, of.requestsPerUnit) }),
        unit: of.unit,
      },
    }),
    ...(remaining > 0 && { limitRemaining: Math.min(UINT32_MAX, remaining) }),
    ...(resetSeconds !== undefined && { durationUntilReset: `${resetSeconds}s` }),
  };
}
