import { status } from '@grpc/grpc-js';
import { createLimiter, fixedWindow } from 'comporta';
import { expect, onTestFinished, test } from 'vitest';
import type { Hits, Status } from '../../../packages/server/src/envoy/answer.js';
import type { Answered } from '../../../packages/server/src/envoy/grpc/should-rate-limit.js';
import { createMetrics, type Metrics } from '../../../packages/server/src/metrics/metrics.js';
import { metricsText } from '../../../packages/server/src/metrics/text.js';

function metrics(): Metrics {
  const made = createMetrics();
  onTestFinished(() => made.close());
  return made;
}

const textOf = (of: Metrics): string => metricsText(of.entries(), undefined).body;
const linesOf = (of: Metrics, name: string): readonly string[] =>
  textOf(of)
    .split('\n')
    .filter((line) => line.startsWith(name));

test('a million subjects make no more series than one', async () => {
  const of = metrics();
  const limiter = createLimiter({ policy: 'api', limits: fixedWindow({ limit: 5, window: '1d' }) });
  of.follow(limiter);
  await limiter.consume('first');
  const before = textOf(of).split('\n').length;
  for (let i = 0; i < 1_000_000; i++) limiter.decide(`subject-${i}`);
  expect(textOf(of).split('\n')).toHaveLength(before);
  expect(linesOf(of, 'comporta_decisions_total{')).toEqual([
    'comporta_decisions_total{algorithm="fixedWindow",outcome="allowed",policy="api",source="memory"} 1000001',
  ]);
  expect(textOf(of)).not.toContain('subject-');
  await limiter.close();
});

const hits = (statsKey: string): Hits => ({
  statsKey,
  total: 3,
  withinLimit: 0,
  nearLimit: 1,
  overLimit: 2,
  shadowMode: 0,
});

function answered(statsKeys: readonly string[], more: Partial<Answered> = {}): Answered {
  const statuses = statsKeys.map((statsKey) => ({ hits: hits(statsKey) }) as Status);
  const answer = {
    isOver: true,
    statuses,
    headers: [],
    degraded: undefined,
    isUnavailable: false,
    isDomainKnown: true,
  };
  return { domain: 'd', code: status.OK, answer, durationMs: 2, ...more };
}

test('rules of the rate limit service are counted by their keys, and beyond a bound together', () => {
  const of = metrics();
  for (let i = 0; i < 400; i++) of.rlsAnswered(answered([`domain.key_${i}`]));
  const lines = linesOf(of, 'comporta_rls_hits_total{');
  expect(lines).toContain('comporta_rls_hits_total{kind="over_limit",rule="domain.key_0"} 2');
  expect(lines).toContain('comporta_rls_hits_total{kind="total",rule="other"} 300');
  expect(lines).toHaveLength(301 * 5);
});

test('domains that callers make up are no label', () => {
  const of = metrics();
  of.rlsAnswered(answered([], { domain: 'made up' }));
  of.rlsAnswered(answered([], { code: status.INVALID_ARGUMENT, answer: undefined, domain: 'made up' }));
  expect(linesOf(of, 'comporta_rls_requests_total{')).toEqual([
    'comporta_rls_requests_total{answer="over_limit"} 1',
    'comporta_rls_requests_total{answer="invalid_argument"} 1',
  ]);
  expect(textOf(of)).not.toContain('made up');
});

test('words of an upstream are no label', () => {
  const of = metrics();
  for (const cause of [
    'connection refused',
    'no answer in time',
    'not HTTP/1.1 (HPE_X)',
    'self-signed from 10.0.0.9',
  ]) {
    of.gateway.failed?.('http://a:1', cause);
  }
  const causes = linesOf(of, 'comporta_gateway_upstream_failures_total{').map(
    (line) => /cause="([^"]*)"/.exec(line)?.[1],
  );
  expect(causes).toEqual(['connection refused', 'no answer in time', 'not HTTP/1.1', 'other']);
});
