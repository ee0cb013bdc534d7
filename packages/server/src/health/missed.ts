/** Which policies miss which nodes of the store. A policy has its store back when it misses none. */
export class Missed {
  readonly #nodes: Map<string, Set<string>> = new Map();

  get isEmpty(): boolean {
    return this.#nodes.size === 0;
  }

  add(policy: string, node: string): void {
    const nodes = this.#nodes.get(policy) ?? new Set();
    this.#nodes.set(policy, nodes.add(node));
  }

  /** True when that was the last that the policy missed. */
  remove(policy: string, node: string): boolean {
    const nodes = this.#nodes.get(policy);
    if (nodes?.delete(node) !== true || nodes.size > 0) return false;
    return this.#nodes.delete(policy);
  }

  clear(): void {
    this.#nodes.clear();
  }
}
