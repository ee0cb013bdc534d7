export { DECISION_SECONDS } from './instruments.js';
export type {
  Attributes,
  Counter,
  Histogram,
  InstrumentOptions,
  Meter,
  ObservableGauge,
  Observer,
  Span,
  Tracer,
} from './meter.js';
export { type LimiterMetrics, otelMetrics } from './metrics.js';
export { otelTracing } from './tracing.js';
export type { Watched } from './watched.js';
