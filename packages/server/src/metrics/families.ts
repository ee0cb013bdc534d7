import type { Attributes, Counter, Histogram, ObservableGauge, Observer } from 'comporta/telemetry';
import type { Kind } from './names.js';
import { renderLabels, Series } from './series.js';

/** One line of the text, less the name of its family. */
export interface Sample {
  readonly suffix: '' | '_total' | '_bucket' | '_sum' | '_count';
  readonly labels: string;
  readonly value: number;
}

/** A metric that can be read. */
export interface Family {
  readonly kind: Kind;
  samples(): Iterable<Sample>;
}

const NONE: Attributes = {};

/** The count of one combination of labels. */
export class Count {
  value = 0;

  add(value: number): void {
    if (value >= 0) this.value += value;
  }
}

export class CounterFamily implements Family, Counter {
  readonly kind = 'counter';
  readonly #series: Series<Count> = new Series(() => new Count());

  add(value: number, attributes: Attributes = NONE): void {
    this.of(attributes).add(value);
  }

  /** For those who count often by the same labels: no look-up for each time. */
  of(attributes: Attributes): Count {
    return this.#series.of(attributes);
  }

  *samples(): Iterable<Sample> {
    for (const [labels, { value }] of this.#series.entries()) yield { suffix: '_total', labels, value };
  }
}

interface Buckets {
  /** Not cumulative; the last is for what lies above all bounds. */
  readonly counts: number[];
  sum: number;
}

export class HistogramFamily implements Family, Histogram {
  readonly kind = 'histogram';
  readonly #bounds: readonly number[];
  readonly #series: Series<Buckets>;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#series = new Series(() => ({ counts: Array<number>(bounds.length + 1).fill(0), sum: 0 }));
  }

  record(value: number, attributes: Attributes = NONE): void {
    const buckets = this.#series.of(attributes);
    let i = 0;
    while (i < this.#bounds.length && value > (this.#bounds[i] as number)) i++;
    buckets.counts[i] = (buckets.counts[i] ?? 0) + 1;
    buckets.sum += value;
  }

  *samples(): Iterable<Sample> {
    for (const [labels, { counts, sum }] of this.#series.entries()) {
      let count = 0;
      for (const [i, more] of counts.entries()) {
        count += more;
        const le = `le="${boundText(this.#bounds[i])}"`;
        yield { suffix: '_bucket', labels: labels === '' ? le : `${labels},${le}`, value: count };
      }
      yield { suffix: '_sum', labels, value: sum };
      yield { suffix: '_count', labels, value: count };
    }
  }
}

/** A form that both text formats take: a whole bound as `1.0`. */
function boundText(bound: number | undefined): string {
  if (bound === undefined) return '+Inf';
  return Number.isInteger(bound) ? bound.toFixed(1) : String(bound);
}

/** Read when somebody asks: a gauge, or a count that is kept elsewhere. */
export class ObservedFamily implements Family, ObservableGauge {
  readonly kind: 'gauge' | 'counter';
  readonly #callbacks: Set<(observer: Observer) => void> = new Set();

  constructor(kind: 'gauge' | 'counter') {
    this.kind = kind;
  }

  addCallback(callback: (observer: Observer) => void): void {
    this.#callbacks.add(callback);
  }

  removeCallback(callback: (observer: Observer) => void): void {
    this.#callbacks.delete(callback);
  }

  samples(): Iterable<Sample> {
    const suffix = this.kind === 'counter' ? '_total' : '';
    const samples = new Map<string, Sample>();
    const observe = (value: number, attributes: Attributes = NONE): void => {
      const labels = renderLabels(attributes);
      samples.set(labels, { suffix, labels, value });
    };
    for (const callback of this.#callbacks) callback({ observe });
    return samples.values();
  }
}
