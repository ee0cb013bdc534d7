import type { MemoryTable } from './memory-table.js';

/** Tables that are kept whether somebody uses them or not: of a thousand policies and more. */
const TABLES_MAX = 4096;
/** How many of those that were let go are looked after whenever one is. */
const SWEEP_STEPS = 2;

/**
 * The tables of a store in memory, by name. Policies that nobody has bound for long leave it when there are too many,
 * with what was counted for them; whoever still decides by such a policy keeps its tables, and finds them here again.
 */
export class MemoryTables {
  readonly #make: () => MemoryTable;
  readonly #kept: Map<string, MemoryTable> = new Map();
  readonly #letGo: Map<string, WeakRef<MemoryTable>> = new Map();

  constructor(make: () => MemoryTable) {
    this.#make = make;
  }

  of(name: string): MemoryTable {
    const table = this.#kept.get(name) ?? this.#letGo.get(name)?.deref() ?? this.#make();
    this.#letGo.delete(name);
    this.#kept.delete(name);
    this.#kept.set(name, table);
    if (this.#kept.size > TABLES_MAX) this.#letOldestGo();
    return table;
  }

  clear(): void {
    this.#kept.clear();
    this.#letGo.clear();
  }

  #letOldestGo(): void {
    // Some runtimes have none: there all are kept, as two tables of one name would each count for itself.
    if (typeof WeakRef !== 'function') return;
    const [[name, table] = []] = this.#kept;
    if (name === undefined || table === undefined) return;
    this.#kept.delete(name);
    this.#letGo.set(name, new WeakRef(table));
    for (let i = 0; i < SWEEP_STEPS; i++) this.#sweepOne();
  }

  #sweepOne(): void {
    const [[name, held] = []] = this.#letGo;
    if (name === undefined || held === undefined) return;
    this.#letGo.delete(name);
    if (held.deref() !== undefined) this.#letGo.set(name, held);
  }
}
