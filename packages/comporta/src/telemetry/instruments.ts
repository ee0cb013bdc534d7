import type { Counter, Histogram, Meter, ObservableGauge } from './meter.js';

/** Bounds of the buckets of decisions' times, in seconds; 0.05 is the time limit where none is set. */
export const DECISION_SECONDS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 1,
];
const RATIOS: readonly number[] = [0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95, 1];

/** All that is measured of limiters. */
export interface Instruments {
  readonly decisions: Counter;
  readonly duration: Histogram;
  readonly cost: Counter;
  readonly utilization: Histogram;
  readonly nearLimit: Counter;
  readonly wouldRefuse: Counter;
  readonly storeDuration: Histogram;
  readonly storeErrors: Counter;
  readonly leasedUnits: Counter;
  readonly leaseBound: ObservableGauge;
  readonly breakerState: ObservableGauge;
  readonly breakerTransitions: Counter;
  readonly fallbackActive: ObservableGauge;
}

/** Names and units follow OpenTelemetry: no unit and no `total` in a name, for exporters add them. */
export function createInstruments(meter: Meter): Instruments {
  const counter = (name: string, unit: string, description: string): Counter =>
    meter.createCounter(name, { unit, description });
  const histogram = (name: string, unit: string, bounds: readonly number[], description: string): Histogram =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: [...bounds] } });
  const gauge = (name: string, description: string): ObservableGauge =>
    meter.createObservableGauge(name, { description });
  return {
    decisions: counter('comporta.decisions', '{decision}', 'Decisions; looks are not counted.'),
    duration: histogram('comporta.decision.duration', 's', DECISION_SECONDS, 'How long decisions take.'),
    cost: counter('comporta.cost', '{unit}', 'Cost that was charged.'),
    utilization: histogram(
      'comporta.quota.utilization',
      '1',
      RATIOS,
      'Used part of the limit with least room, after each decision.',
    ),
    nearLimit: counter('comporta.near_limit', '{decision}', 'Admitted decisions that left at most 20 % of a limit.'),
    wouldRefuse: counter('comporta.would_refuse', '{decision}', 'Refusals in shadow mode: the request passed.'),
    storeDuration: histogram(
      'comporta.store.duration',
      's',
      DECISION_SECONDS,
      'How long decisions that ask the store take.',
    ),
    storeErrors: counter('comporta.store.errors', '{error}', 'Calls to the store that failed.'),
    leasedUnits: counter(
      'comporta.lease.units',
      '{unit}',
      'Units fetched ahead, by whether they were used or given back.',
    ),
    leaseBound: gauge('comporta.lease.bound', 'Units that all processes together may admit beyond a limit.'),
    breakerState: gauge('comporta.breaker.state', "1 for the state that a node's breaker is in, else 0."),
    breakerTransitions: counter('comporta.breaker.transitions', '{transition}', 'Changes of breakers.'),
    fallbackActive: gauge(
      'comporta.fallback.active',
      '1 when within the last 30 s a decision was made without the store in this mode.',
    ),
  };
}
