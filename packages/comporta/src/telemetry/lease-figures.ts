import type { LeaseEvent } from '../core/events.js';
import type { Limiter } from '../limiter/limiter.js';
import type { Instruments } from './instruments.js';
import type { Observer } from './meter.js';

/** Limits whose bounds are told: more are no configuration that somebody wrote. */
const BOUNDS_MAX = 1000;

/** What was fetched ahead, beside the bounds of what that may add to the limits. */
export class LeaseFigures {
  readonly #instruments: Instruments;
  /** Units by policy and limit; of those that are gone too, for limiters are not known to end. */
  readonly #bounds: Map<string, { readonly policy: string; readonly limit: string; readonly units: number }> =
    new Map();

  constructor(instruments: Instruments) {
    this.#instruments = instruments;
  }

  follow({ policy, leaseBounds }: Limiter): void {
    for (const { id, units } of leaseBounds) {
      const name = `${policy} ${id}`;
      if (this.#bounds.size < BOUNDS_MAX || this.#bounds.has(name))
        this.#bounds.set(name, { policy, limit: id, units });
    }
  }

  ended({ policy, units, unused }: LeaseEvent): void {
    const { leasedUnits } = this.#instruments;
    leasedUnits.add(units - unused, { 'comporta.policy': policy, 'comporta.use': 'used' });
    leasedUnits.add(unused, { 'comporta.policy': policy, 'comporta.use': 'unused' });
  }

  observe(observer: Observer): void {
    for (const { policy, limit, units } of this.#bounds.values()) {
      observer.observe(units, { 'comporta.policy': policy, 'comporta.limit': limit });
    }
  }
}
