import type { Moment } from './memory-limits.js';
import type { MemoryTable } from './memory-table.js';
import { ANY_TERMS, type Blocks, NO_TERMS, type Plan, refundTtlMs, type StoreReply, type Terms } from './store.js';

/** What a shut gate answers. */
type Shut = Pick<StoreReply, 'blockedMs' | 'terms'>;

/** What a policy looks at before its limits, in memory; the twin of the scripts' gates. */
export class MemoryGates {
  readonly #blocks: Blocks | undefined;
  readonly #haveTerms: boolean;
  readonly #keptMs: number;
  readonly #blocked: MemoryTable;
  readonly #refusals: MemoryTable;
  readonly #stored: MemoryTable;

  constructor(plan: Plan, tableOf: (name: string) => MemoryTable) {
    this.#blocks = plan.blocks;
    this.#haveTerms = plan.haveTerms === true;
    this.#keptMs = refundTtlMs(plan);
    this.#blocked = tableOf(`${plan.policy}:block`);
    this.#refusals = tableOf(`${plan.policy}:refusals`);
    this.#stored = tableOf(`${plan.policy}:terms`);
  }

  /** `undefined` when all gates are open. */
  check(subject: string, at: Moment, mayWrite: boolean, terms: Terms = NO_TERMS): Shut | undefined {
    if (this.#haveTerms) {
      const { expected, replaced } = terms;
      const stored = (this.#stored.get(subject, at.ms) as string | undefined) ?? '';
      if (stored !== expected && stored !== replaced && replaced !== ANY_TERMS) return { terms: stored };
      if (mayWrite && expected.startsWith('r')) this.#stored.set(subject, expected, at.ms + this.#keptMs, 1, at.ms);
    }
    if (this.#blocks === undefined || this.#blocked.get(subject, at.ms) === undefined) return undefined;
    return { blockedMs: this.#blocked.ttlMs(subject, at.ms) ?? 0 };
  }

  /** Counts a refusal that waiting would have avoided; the last of too many blocks. */
  refused(subject: string, at: Moment): Shut | undefined {
    const { refusals, withinMs = 0, forMs = 0 } = this.#blocks ?? {};
    if (refusals === undefined) return undefined;
    const count = ((this.#refusals.get(subject, at.ms) as number | undefined) ?? 0) + 1;
    const leftMs = count === 1 ? withinMs : (this.#refusals.ttlMs(subject, at.ms) ?? withinMs);
    if (count < refusals) {
      this.#refusals.set(subject, count, at.ms + leftMs, 1, at.ms);
      return undefined;
    }
    this.block(subject, forMs, at);
    return { blockedMs: forMs };
  }

  /** 0 lets the subject in again. Whether there is, or was, a block. */
  block(subject: string, forMs: number, at: Moment): boolean {
    this.#refusals.delete(subject);
    return put(this.#blocked, subject, true, forMs, at);
  }

  /** 0 takes the terms away, but never a revision's. Whether there are, or were, any. */
  setTerms(subject: string, terms: string, forMs: number, at: Moment): boolean {
    const stored = this.#stored.get(subject, at.ms) as string | undefined;
    if (forMs <= 0 && stored?.startsWith('r')) return false;
    return put(this.#stored, subject, terms, forMs, at);
  }

  /** Forgets blocks and refusals, not terms: those are settings. Number of entries removed. */
  reset(subject: string, at: Moment): number {
    const tables = [this.#blocked, this.#refusals];
    return tables.filter((table) => table.get(subject, at.ms) !== undefined && table.delete(subject)).length;
  }
}

function put(table: MemoryTable, subject: string, state: unknown, forMs: number, at: Moment): boolean {
  const was = table.get(subject, at.ms) !== undefined;
  if (forMs <= 0) return table.delete(subject) && was;
  table.set(subject, state, at.ms + forMs, 1, at.ms);
  return true;
}
