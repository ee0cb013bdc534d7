import type { InstrumentOptions, Meter } from 'comporta/telemetry';
import { CounterFamily, type Family, HistogramFamily, ObservedFamily } from './families.js';
import { familyName, unitWord } from './names.js';

/** A metric with what the text says of it. */
export interface Entry {
  readonly family: Family;
  /** Without the `_total` of counters. */
  readonly name: string;
  readonly unit: string | undefined;
  readonly help: string;
}

/** OpenTelemetry's own, in seconds. */
const BOUNDS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** The metrics of one process: a meter that keeps its numbers to be read as text. */
export class Registry implements Meter {
  readonly #entries: Map<string, Entry> = new Map();

  createCounter(name: string, options?: InstrumentOptions): CounterFamily {
    return this.#add(name, new CounterFamily(), options);
  }

  createHistogram(name: string, options?: InstrumentOptions): HistogramFamily {
    return this.#add(name, new HistogramFamily(options?.advice?.explicitBucketBoundaries ?? BOUNDS), options);
  }

  createObservableGauge(name: string, options?: InstrumentOptions): ObservedFamily {
    return this.#add(name, new ObservedFamily('gauge'), options);
  }

  createObservableCounter(name: string, options?: InstrumentOptions): ObservedFamily {
    return this.#add(name, new ObservedFamily('counter'), options);
  }

  /** In the order of their making. */
  entries(): Iterable<Entry> {
    return this.#entries.values();
  }

  #add<F extends Family>(of: string, family: F, { unit, description = '' }: InstrumentOptions = {}): F {
    const name = familyName(of, unit);
    if (this.#entries.has(name)) throw new Error(`metric ${name} is made twice`);
    this.#entries.set(name, { family, name, unit: unitWord(unit), help: description });
    return family;
  }
}
