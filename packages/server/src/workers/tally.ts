import type { Metrics } from '../metrics/metrics.js';
import { Registry } from '../metrics/registry.js';
import { countsOf, type FamilySnapshot, mergeMetrics, snapshotOf } from './merge-metrics.js';

/** The metrics of all workers together. A count never goes back: not when a worker hangs, and not when it ends. */
export class Tally {
  readonly #own: Pick<Metrics, 'entries'>;
  readonly #registry: Registry = new Registry();
  readonly #ended: ReturnType<Registry['createCounter']>;
  /** As last told. */
  readonly #known: Map<number, readonly FamilySnapshot[]> = new Map();
  #past: readonly FamilySnapshot[] = [];

  constructor(own: Pick<Metrics, 'entries'>, serving: () => number) {
    this.#own = own;
    const options = { unit: '{worker}', description: 'Workers that serve.' };
    this.#registry.createObservableGauge('comporta.workers', options).addCallback(({ observe }) => observe(serving()));
    this.#ended = this.#registry.createCounter('comporta.workers.ended', {
      unit: '{worker}',
      description: 'Workers that ended while the server went on.',
    });
    this.#ended.add(0);
  }

  /** Of all, from what the workers answered just now; of others counts what they told before. */
  sum(answers: ReadonlyMap<number, readonly FamilySnapshot[]>): readonly FamilySnapshot[] {
    for (const [worker, families] of answers) this.#known.set(worker, families);
    const own = snapshotOf([...this.#own.entries(), ...this.#registry.entries()]);
    return mergeMetrics([own, this.#past, ...this.#known.values()]);
  }

  left(worker: number): void {
    this.#ended.add(1);
    this.#past = countsOf(mergeMetrics([this.#past, this.#known.get(worker) ?? []]));
    this.#known.delete(worker);
  }
}
