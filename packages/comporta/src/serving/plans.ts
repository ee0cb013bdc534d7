import { checkName } from '../algorithms/limits.js';
import { DURATION_MAX_MS } from '../algorithms/ranges.js';
import { readLimits } from '../algorithms/written.js';
import type { Blocks, Plan, PolicyStore, Store } from '../stores/store.js';
import { type Fields, optional, readFields, readFlag, readWhole, translated } from './read.js';

/** Plans that are kept bound; the least used give way. */
const PLANS_MAX = 1000;
const REFUSALS_MAX = 1_000_000;

/** Binds plans as they come, each once, under its own text. */
export class Plans {
  readonly #store: Store;
  readonly #bound: Map<string, PolicyStore> = new Map();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Throws `BadInput` for what is no plan. */
  bind(written: unknown, field: string): PolicyStore {
    const text = JSON.stringify(written) ?? '';
    const policy = this.#bound.get(text) ?? this.#store.bind(readPlan(written, field));
    this.#bound.delete(text);
    if (this.#bound.size >= PLANS_MAX) this.#bound.delete(this.#bound.keys().next().value as string);
    this.#bound.set(text, policy);
    return policy;
  }
}

function readPlan(value: unknown, field: string): Plan {
  const { policy, limits, blocks, haveTerms } = readFields(value, field);
  return translated(field, () => {
    checkName(policy, `${field}.policy`);
    return {
      policy,
      limits: readLimits(limits, `${field}.limits`),
      ...(blocks !== undefined && { blocks: readBlocks(readFields(blocks, `${field}.blocks`), `${field}.blocks`) }),
      ...(optional(haveTerms, (given) => readFlag(given, `${field}.haveTerms`)) && { haveTerms: true }),
      // Who uses it says so itself.
      isUncounted: true as const,
    };
  });
}

/** By hand alone, or all three numbers. */
function readBlocks({ refusals, withinMs, forMs }: Fields, field: string): Blocks {
  if (refusals === undefined && withinMs === undefined && forMs === undefined) return {};
  return {
    refusals: readWhole(refusals, `${field}.refusals`, 1, REFUSALS_MAX),
    withinMs: readWhole(withinMs, `${field}.withinMs`, 1, DURATION_MAX_MS),
    forMs: readWhole(forMs, `${field}.forMs`, 1, DURATION_MAX_MS),
  };
}
