import { isDecided } from './load.mjs';
import { quantile } from './stats.mjs';

/** A decision that comes sooner and from Redis is a normal one. */
const NORMAL_MS = 50;

/** `records` as of {@link paced}; a call that was never answered waited until the end. */
export function faultFigures(records, fromMs, toMs, endMs) {
  const during = records.filter(([sent]) => sent >= fromMs && sent < toMs);
  const waits = during.map(([sent, answered]) => (answered ?? endMs) - sent).sort((a, b) => a - b);
  const isNormal = ([sent, answered, answer]) => isDecided(answer) && answered - sent < NORMAL_MS;
  const first = records.find((record) => record[0] >= toMs && isNormal(record));
  return {
    p50Ms: quantile(waits, 0.5),
    p99Ms: quantile(waits, 0.99),
    maxMs: waits.at(-1),
    errors: during.filter(([, , answer]) => answer === 'e').length / during.length,
    unanswered: during.filter(([, answered]) => answered === undefined).length / during.length,
    recoveredMs: first === undefined ? undefined : first[1] - toMs,
  };
}
