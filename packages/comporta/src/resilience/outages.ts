/** An answer sooner than this after a complaint is about another key, and no sign that anything was mended. */
const MENDED_MS = 1000;

interface Outage {
  /** Where a subject that was not served lives now: tells who took over from the node. */
  nodeNow(): string;
  readonly atMs: number;
  /** The node answered, with something that only a person can mend. */
  readonly isComplaint: boolean;
}

/**
 * Which nodes of the store fail a policy at present. An answer of one node says nothing about another,
 * unless that other's subjects have moved to it. Pure but for its own state.
 */
export class Outages {
  readonly #byNode: Map<string, Outage> = new Map();

  /** True when the node did not fail before. */
  failed(node: string, outage: Outage): boolean {
    const isNews = !this.#byNode.has(node);
    this.#byNode.set(node, outage);
    return isNews;
  }

  get isEmpty(): boolean {
    return this.#byNode.size === 0;
  }

  /** A node answered: the nodes that are no longer missed. */
  answered(node: string, nowMs: number): readonly string[] {
    const over: string[] = [];
    for (const [failed, { nodeNow, atMs, isComplaint }] of this.#byNode) {
      if (isComplaint && Math.abs(nowMs - atMs) < MENDED_MS) continue;
      if (failed === node || nodeNow() === node) over.push(failed);
    }
    for (const each of over) this.#byNode.delete(each);
    return over;
  }
}
