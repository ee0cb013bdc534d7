import type { Part } from '../algorithms/algorithm.js';
import { checkName } from '../algorithms/limits.js';
import { DURATION_MAX_MS } from '../algorithms/ranges.js';
import { sharedLimit } from '../algorithms/share.js';
import { readLimits } from '../algorithms/written.js';
import { wirePlan } from '../stores/http-protocol.js';
import type { Blocks, Plan, PolicyStore, Store } from '../stores/store.js';
import { BadInput, type Fields, optional, readFields, readFlag, readWhole, refuseOthers, translated } from './read.js';

/** Plans that are kept bound, and characters of each; the least used give way. */
const PLANS_MAX = 1000;
const PLAN_LENGTH_MAX = 16_384;
const REFUSALS_MAX = 1_000_000;
const PARTS_MAX = 64;

export interface BoundPlan {
  readonly policy: PolicyStore;
  /** How many it has. */
  readonly limits: number;
}

/** Binds plans as they come, each once, under the text that a client writes of it. */
export class Plans {
  readonly #store: Store;
  readonly #bound: Map<string, BoundPlan> = new Map();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Throws `BadInput` for what is no plan. */
  bind(written: unknown, field: string): BoundPlan {
    const text = JSON.stringify(written) ?? '';
    const known = this.#bound.get(text);
    if (known !== undefined) return this.#keep(text, known);
    const plan = readPlan(written, field);
    const canonical = JSON.stringify(wirePlan(plan));
    if (canonical.length > PLAN_LENGTH_MAX) {
      throw new BadInput(field, `${field}: expected a plan of at most ${PLAN_LENGTH_MAX} characters`);
    }
    const { length: limits } = plan.limits;
    return this.#keep(canonical, this.#bound.get(canonical) ?? { policy: this.#store.bind(plan), limits });
  }

  #keep(text: string, plan: BoundPlan): BoundPlan {
    this.#bound.delete(text);
    if (this.#bound.size >= PLANS_MAX) this.#bound.delete(this.#bound.keys().next().value as string);
    this.#bound.set(text, plan);
    return plan;
  }
}

function readPlan(value: unknown, field: string): Plan {
  const fields = readFields(value, field);
  const { policy, limits, blocks, haveTerms, split } = fields;
  refuseOthers(fields, field, ['policy', 'limits', 'blocks', 'haveTerms', 'split']);
  return translated(field, () => {
    checkName(policy, `${field}.policy`);
    const whole = readLimits(limits, `${field}.limits`);
    const part = optional(split, (given) => readSplit(readFields(given, `${field}.split`), `${field}.split`));
    return {
      policy,
      limits: part === undefined ? whole : whole.map((limit) => sharedLimit(limit, part, 0)),
      ...(part && { split: part }),
      ...(blocks !== undefined && { blocks: readBlocks(readFields(blocks, `${field}.blocks`), `${field}.blocks`) }),
      ...(optional(haveTerms, (given) => readFlag(given, `${field}.haveTerms`)) && { haveTerms: true }),
      // Who uses it says so itself.
      isUncounted: true as const,
    };
  });
}

function readSplit(fields: Fields, field: string): Part {
  refuseOthers(fields, field, ['processes', 'rank']);
  const processes = readWhole(fields.processes, `${field}.processes`, 2, PARTS_MAX);
  return { processes, rank: readWhole(fields.rank, `${field}.rank`, 0, processes - 1) };
}

/** By hand alone, or all three numbers. */
function readBlocks(fields: Fields, field: string): Blocks {
  const { refusals, withinMs, forMs } = fields;
  refuseOthers(fields, field, ['refusals', 'withinMs', 'forMs']);
  if (refusals === undefined && withinMs === undefined && forMs === undefined) return {};
  return {
    refusals: readWhole(refusals, `${field}.refusals`, 1, REFUSALS_MAX),
    withinMs: readWhole(withinMs, `${field}.withinMs`, 1, DURATION_MAX_MS),
    forMs: readWhole(forMs, `${field}.forMs`, 1, DURATION_MAX_MS),
  };
}
