import { status } from '@grpc/grpc-js';
import { DECISION_SECONDS } from 'comporta/telemetry';
import type { Hits } from '../envoy/answer.js';
import type { Answered } from '../envoy/grpc/should-rate-limit.js';
import type { RateLimitAnswer } from '../envoy/service.js';
import type { Count, CounterFamily } from './families.js';
import type { Registry } from './registry.js';

type Kind = Exclude<keyof Hits, 'statsKey'>;

/** Rules that are told apart: their keys may hold values of descriptors. */
const RULES_MAX = 300;
const OTHERS = 'other';

/** Counts answers of the rate limit service, and hits by rule. */
export function measureRls(registry: Registry): (answered: Answered) => void {
  const requests = registry.createCounter('comporta.rls.requests', {
    unit: '{request}',
    description: "Requests to Envoy's rate limit service by answer; those of /json too.",
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
  const rules = new Map<string, RuleCounts>();
  const countsOf = (statsKey: string): RuleCounts => {
    const known = rules.get(statsKey);
    if (known !== undefined) return known;
    if (rules.size >= RULES_MAX && statsKey !== OTHERS) return countsOf(OTHERS);
    const made = ruleCounts(hits, statsKey);
    rules.set(statsKey, made);
    return made;
  };
  const answers = new Map<string, Count>();
  const countOf = (name: string): Count => {
    const known = answers.get(name) ?? requests.of({ 'comporta.answer': name });
    answers.set(name, known);
    return known;
  };
  return ({ code, answer, durationMs }) => {
    countOf(answerOf(code, answer)).add(1);
    duration.record(durationMs / 1000);
    if (answer === undefined) return;
    for (const { hits: of } of answer.statuses) if (of !== undefined) addHits(countsOf(of.statsKey), of);
  };
}

/** What a rule's hits are added to. */
type RuleCounts = Readonly<Record<Kind, Count>>;

function ruleCounts(hits: CounterFamily, statsKey: string): RuleCounts {
  const countOf = (kind: string): Count => hits.of({ 'comporta.rule': statsKey, 'comporta.kind': kind });
  return {
    total: countOf('total'),
    withinLimit: countOf('within_limit'),
    nearLimit: countOf('near_limit'),
    overLimit: countOf('over_limit'),
    shadowMode: countOf('shadow_mode'),
  };
}

function addHits(counts: RuleCounts, hits: Hits): void {
  counts.total.add(hits.total);
  counts.withinLimit.add(hits.withinLimit);
  counts.nearLimit.add(hits.nearLimit);
  counts.overLimit.add(hits.overLimit);
  counts.shadowMode.add(hits.shadowMode);
}

/** Codes of gRPC are few; domains are the caller's text and no label. */
function answerOf(code: status, answer: RateLimitAnswer | undefined): string {
  if (code !== status.OK || answer === undefined) return (status[code] ?? 'UNKNOWN').toLowerCase();
  if (!answer.isDomainKnown) return 'unknown_domain';
  return answer.isOver ? 'over_limit' : 'ok';
}
