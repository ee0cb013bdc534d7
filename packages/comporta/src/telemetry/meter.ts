/**
 * The parts of `@opentelemetry/api` that are used here. Its own `Meter` and `Tracer` fit, and so does
 * anything else of this shape: the package need not be installed.
 */

export type Attributes = Readonly<Record<string, string | number>>;

export interface Counter {
  add(value: number, attributes?: Attributes): void;
}

export interface Histogram {
  record(value: number, attributes?: Attributes): void;
}

/** Takes the values of a gauge at the time that somebody reads it. */
export interface Observer {
  observe(value: number, attributes?: Attributes): void;
}

export interface ObservableGauge {
  addCallback(callback: (observer: Observer) => void): void;
  removeCallback(callback: (observer: Observer) => void): void;
}

export interface InstrumentOptions {
  description?: string;
  /** In UCUM: `s`, `By`, `1`, `{decision}`. */
  unit?: string;
  advice?: { explicitBucketBoundaries?: number[] };
}

export interface Meter {
  createCounter(name: string, options?: InstrumentOptions): Counter;
  createHistogram(name: string, options?: InstrumentOptions): Histogram;
  createObservableGauge(name: string, options?: InstrumentOptions): ObservableGauge;
}

export interface Tracer {
  startSpan(name: string, options?: { startTime?: number; attributes?: Record<string, string | number> }): Span;
}

export interface Span {
  end(): void;
}
