interface Use {
  readonly subject: string;
  readonly atUs: number;
  cost: number;
}

/** What a process that is alone may decide without its store, told by a list: an independent copy of the rules. */
export class LocalModel {
  readonly #limit: number;
  readonly #windowUs: number;
  #uses: Use[] = [];
  readonly #refunded: Set<string> = new Set();
  /** What the store said last, until it is needed. */
  readonly #said: Map<string, { readonly used: number; readonly untilUs: number }> = new Map();

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowUs = windowMs * 1000;
  }

  said(subject: string, nowUs: number, remaining: number, resetAfterMs: number): void {
    this.#said.set(subject, { used: this.#limit - remaining, untilUs: nowUs + resetAfterMs * 1000 });
  }

  /** `charge` is the cost that an admitted request leaves behind. */
  decide(subject: string, nowUs: number, cost: number, charge: number): { allowed: boolean; remaining: number } {
    this.#begin(subject, nowUs);
    const remaining = this.#limit - this.#used(subject, nowUs);
    const allowed = cost <= remaining;
    if (allowed && charge > 0) this.#uses.push({ subject, atUs: nowUs, cost: charge });
    return { allowed, remaining: allowed ? remaining - charge : remaining };
  }

  /** Once per decision, as far as it still counts. */
  refund(subject: string, decisionId: string, nowUs: number, atUs: number, cost: number): void {
    const use = this.#counting(subject, nowUs).find((each) => each.atUs === atUs && each.cost >= cost);
    if (use === undefined || this.#refunded.has(decisionId)) return;
    use.cost -= cost;
    this.#refunded.add(decisionId);
  }

  /** The larger of both uses, until the later of both ends, takes the place of what is here. */
  #begin(subject: string, nowUs: number): void {
    const said = this.#said.get(subject);
    this.#said.delete(subject);
    if (said === undefined) return;
    const here = this.#counting(subject, nowUs);
    const untilUs = Math.max(said.untilUs, ...here.map(({ atUs }) => atUs + this.#windowUs));
    const cost = Math.max(said.untilUs > nowUs ? said.used : 0, this.#used(subject, nowUs));
    this.#uses = this.#uses.filter((use) => use.subject !== subject);
    if (cost > 0) this.#uses.push({ subject, atUs: untilUs - this.#windowUs, cost });
  }

  #counting(subject: string, nowUs: number): Use[] {
    return this.#uses.filter((use) => use.subject === subject && use.cost > 0 && nowUs - use.atUs < this.#windowUs);
  }

  #used(subject: string, nowUs: number): number {
    return this.#counting(subject, nowUs).reduce((sum, { cost }) => sum + cost, 0);
  }
}
