import type { Limiter } from 'comporta';
import type { Fact } from './alert.js';

/** Many, so that every node of a cluster is asked in turn. */
const SUBJECTS = 4096;
const STRIDE = 1597;

/**
 * Looks at the store through the limiters that miss it. Policies notice with their requests only: without
 * any, an outage would never be over. A look charges nothing, and its time limit is the policy's.
 */
export class Probe {
  #next = 0;

  ask(limiters: ReadonlyMap<string, Limiter>, facts: readonly Fact[]): void {
    const [any] = limiters.values();
    const asked = facts.map(({ kind, target }) => (kind === 'breaker.open' ? any : limiters.get(target)));
    this.#next = (this.#next + STRIDE) % SUBJECTS;
    for (const limiter of new Set(asked)) {
      // Only a limiter of a replaced gate refuses.
      limiter?.peek(`alerts-probe-${this.#next}`).catch(() => undefined);
    }
  }
}
