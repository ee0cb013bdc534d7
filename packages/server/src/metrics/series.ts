import type { Attributes } from 'comporta/telemetry';
import { labelName } from './names.js';

/** Series that one metric may have. What comes beyond shares one, as OpenTelemetry says. */
const SERIES_MAX = 2000;
const OVERFLOW: Attributes = { 'otel.metric.overflow': 'true' };

/** The values of one metric, by their labels. */
export class Series<Value> {
  readonly #make: () => Value;
  readonly #byLabels: Map<string, Value> = new Map();
  /** Who passes the same object each time pays no rendering. */
  readonly #known: WeakMap<Attributes, Value> = new WeakMap();
  /** The one before, mostly passed again: that costs not even a look-up. */
  #last: { readonly attributes: Attributes; readonly value: Value } | undefined;

  constructor(make: () => Value) {
    this.#make = make;
  }

  of(attributes: Attributes): Value {
    if (this.#last?.attributes === attributes) return this.#last.value;
    const known = this.#known.get(attributes);
    const value = known ?? this.#at(renderLabels(attributes));
    if (known === undefined) this.#known.set(attributes, value);
    this.#last = { attributes, value };
    return value;
  }

  entries(): Iterable<readonly [labels: string, value: Value]> {
    return this.#byLabels;
  }

  #at(labels: string): Value {
    const known = this.#byLabels.get(labels);
    if (known !== undefined) return known;
    const isFull = this.#byLabels.size >= SERIES_MAX;
    if (isFull && labels !== renderLabels(OVERFLOW)) return this.#at(renderLabels(OVERFLOW));
    const made = this.#make();
    this.#byLabels.set(labels, made);
    return made;
  }
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };

/** `policy="a",outcome="b"`, in the order of the names. */
export function renderLabels(attributes: Attributes): string {
  const names = Object.keys(attributes).sort();
  return names.map((name) => `${labelName(name)}="${escaped(String(attributes[name]))}"`).join(',');
}

const escaped = (text: string): string => text.replace(/[\\"\n]/g, (char) => ESCAPES[char] ?? char);
