import { steadyMs } from '../core/time.js';
import type { Limiter } from '../limiter/limiter.js';
import { BreakerStates } from './breakers.js';
import { Fallbacks } from './fallbacks.js';
import { createInstruments } from './instruments.js';
import { LeaseFigures } from './lease-figures.js';
import type { Meter, Observer } from './meter.js';
import { PolicyMetrics } from './policy-metrics.js';
import { limitersOf, type Watched } from './watched.js';

/** Figures of limiters, as they are recorded. */
export interface LimiterMetrics {
  /** Records what these limiters do too; the returned function ends it for them, and then they pay nothing again. */
  follow(of: Watched): () => void;
  /** Records nothing any more. */
  stop(): void;
}

/**
 * Records decisions, times, store failures and breakers to a meter of OpenTelemetry. Every attribute is bounded:
 * policies, outcomes, causes, up to 64 nodes; never a subject. Limiters that nobody records pay nothing.
 */
export function otelMetrics(meter: Meter, ...of: readonly Watched[]): LimiterMetrics {
  const instruments = createInstruments(meter);
  const breakers = new BreakerStates(instruments);
  const fallbacks = new Fallbacks(steadyMs);
  const leases = new LeaseFigures(instruments);
  const gauges = [
    [instruments.leaseBound, (observer: Observer) => leases.observe(observer)],
    [instruments.breakerState, (observer: Observer) => breakers.observe(observer)],
    [instruments.fallbackActive, (observer: Observer) => fallbacks.observe(observer)],
  ] as const;
  for (const [gauge, observe] of gauges) gauge.addCallback(observe);
  // No list of who is followed: it would keep limiters in memory that were closed long ago.
  let isStopped = false;

  const followOne = (limiter: Limiter): readonly (() => void)[] => {
    const policy = new PolicyMetrics(instruments, limiter);
    leases.follow(limiter);
    return [
      limiter.on('decision', (event) => {
        if (isStopped) return;
        policy.decided(event);
        if (event.decision.degraded !== undefined) fallbacks.decided(event.decision.degraded);
      }),
      limiter.on('storeError', ({ degraded }) => {
        if (!isStopped) instruments.storeErrors.add(1, { 'error.type': degraded.cause });
      }),
      limiter.on('lease', (event) => {
        if (!isStopped) leases.ended(event);
      }),
      limiter.on('breaker', (event) => {
        if (!isStopped) breakers.changed(event);
      }),
    ];
  };
  const follow = (watched: Watched): (() => void) => {
    const stops = limitersOf(watched).flatMap(followOne);
    return () => {
      for (const stop of stops) stop();
    };
  };
  for (const watched of of) follow(watched);
  const stop = (): void => {
    isStopped = true;
    for (const [gauge, observe] of gauges) gauge.removeCallback(observe);
  };
  return { follow, stop };
}
