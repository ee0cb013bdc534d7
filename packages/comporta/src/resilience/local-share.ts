import type { Part } from '../algorithms/algorithm.js';
import type { Plan, PolicyStore, Store } from '../stores/store.js';

/**
 * The stand-in for a store that does not answer: the same limits in memory, on this process's part of
 * them, so that all processes together keep near the limit.
 */
export class LocalShare {
  readonly #plan: Plan;
  readonly #memory: Store;
  readonly #partOf: () => Part;
  #bound: { readonly part: Part; readonly store: PolicyStore; readonly smallest: number } | undefined;

  constructor(plan: Plan, memory: Store, partOf: () => Part) {
    this.#plan = plan;
    this.#memory = memory;
    this.#partOf = partOf;
  }

  /** The memory store on the present part. A request above the part but within the limit needs all of the part. */
  forCost(cost: number): PolicyStore {
    const part = this.#partOf();
    if (this.#bound?.part.processes !== part.processes || this.#bound.part.rank !== part.rank) {
      const plan = this.#planFor(part, 1);
      this.#bound = {
        part,
        store: this.#memory.bind(plan),
        smallest: Math.min(...plan.limits.map(({ limit }) => limit)),
      };
    }
    if (cost <= this.#bound.smallest) return this.#bound.store;
    return this.#memory.bind(this.#planFor(part, cost));
  }

  #planFor(part: Part, atLeast: number): Plan {
    const limits = this.#plan.limits.map((limit) => {
      const args = limit.algorithm.share(limit.args, part, atLeast);
      return { ...limit, args, limit: limit.algorithm.capacity(args) };
    });
    return { policy: this.#plan.policy, limits };
  }
}
