import { status } from '@grpc/grpc-js';
import { type Attributes, DECISION_SECONDS } from 'comporta/telemetry';
import type { Hits } from '../envoy/answer.js';
import type { Answered } from '../envoy/grpc/should-rate-limit.js';
import type { RateLimitAnswer } from '../envoy/service.js';
import type { Registry } from './registry.js';

type Kind = Exclude<keyof Hits, 'statsKey'>;

const KINDS: readonly (readonly [Kind, string])[] = [
  ['total', 'total'],
  ['withinLimit', 'within_limit'],
  ['nearLimit', 'near_limit'],
  ['overLimit', 'over_limit'],
  ['shadowMode', 'shadow_mode'],
];

/** Rules that are told apart: their keys may hold values of descriptors. */
const RULES_MAX = 300;
const OTHERS = 'other';

/** Counts answers of the rate limit service, and hits by rule. */
export function measureRls(registry: Registry): (answered: Answered) => void {
  const requests = registry.createCounter('comporta.rls.requests', {
    unit: '{request}',
    description: "Requests to Envoy's rate limit service by answer.",
  });
  const duration = registry.createHistogram('comporta.rls.request.duration', {
    unit: 's',
    description: "How long requests to Envoy's rate limit service take.",
    advice: { explicitBucketBoundaries: [...DECISION_SECONDS] },
  });
  const hits = registry.createCounter('comporta.rls.hits', {
    unit: '{hit}',
    description: "Cost by rule of Envoy's rate limit service, and how it fell.",
  });
  const rules = new Map<string, ReadonlyMap<Kind, Attributes>>();
  const labelsOf = (statsKey: string): ReadonlyMap<Kind, Attributes> => {
    const known = rules.get(statsKey);
    if (known !== undefined) return known;
    if (rules.size >= RULES_MAX && statsKey !== OTHERS) return labelsOf(OTHERS);
    const made = new Map(KINDS.map(([kind, text]) => [kind, { 'comporta.rule': statsKey, 'comporta.kind': text }]));
    rules.set(statsKey, made);
    return made;
  };
  return ({ code, answer, durationMs }) => {
    requests.add(1, { 'comporta.answer': answerOf(code, answer) });
    duration.record(durationMs / 1000);
    for (const { hits: of } of answer?.statuses ?? []) {
      if (of === undefined) continue;
      for (const [kind, labels] of labelsOf(of.statsKey)) hits.add(of[kind], labels);
    }
  };
}

/** Codes of gRPC are few; domains are the caller's text and no label. */
function answerOf(code: status, answer: RateLimitAnswer | undefined): string {
  if (code !== status.OK || answer === undefined) return (status[code] ?? 'UNKNOWN').toLowerCase();
  if (!answer.isDomainKnown) return 'unknown_domain';
  return answer.isOver ? 'over_limit' : 'ok';
}
