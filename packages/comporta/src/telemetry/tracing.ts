import { steadyMs } from '../core/time.js';
import { outcomeOf, sourceOf } from './meaning.js';
import type { Tracer } from './meter.js';
import { limitersOf, type Watched } from './watched.js';

/**
 * Makes a span `comporta.decision` of each decision, under the span that is active where it was asked for.
 * The returned function ends it. Subjects are not told. Calls of `wait` make none.
 */
export function otelTracing(tracer: Tracer, ...of: readonly Watched[]): () => void {
  const stops = of.flatMap(limitersOf).map((limiter) =>
    limiter.on('decision', (event) => {
      const { policy, decision, durationMs } = event;
      if (durationMs === undefined) return;
      const { degraded, cost } = decision;
      const attributes = {
        'comporta.policy': policy,
        'comporta.outcome': outcomeOf(event),
        'comporta.source': sourceOf(event),
        'comporta.cost': cost,
        ...(degraded === undefined ? {} : { 'error.type': degraded.cause }),
      };
      tracer.startSpan('comporta.decision', { startTime: steadyMs() - durationMs, attributes }).end();
    }),
  );
  return () => {
    for (const stop of stops) stop();
  };
}
