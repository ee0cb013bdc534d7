import { within } from '../time.js';

/** Longer than a busy worker takes, and far below what a scraper waits. */
const LIMIT_MS = 500;

/** Questions to several processes, whose answers come as messages. */
export class Collector<Answer> {
  readonly #limitMs: number;
  readonly #waiting: Map<number, { readonly missing: Set<number>; take(from: number, answer?: Answer): void }> =
    new Map();
  #lastId = 0;

  constructor(limitMs: number = LIMIT_MS) {
    this.#limitMs = limitMs;
  }

  /** Answers by who gave them; who takes too long, or ends, is not among them. */
  async ask(of: readonly number[], send: (to: number, id: number) => void): Promise<ReadonlyMap<number, Answer>> {
    const id = ++this.#lastId;
    const answers = new Map<number, Answer>();
    const missing = new Set(of);
    const all = new Promise<void>((resolve) => {
      const take = (from: number, answer?: Answer): void => {
        if (!missing.delete(from)) return;
        if (answer !== undefined) answers.set(from, answer);
        if (missing.size === 0) resolve();
      };
      this.#waiting.set(id, { missing, take });
      if (missing.size === 0) resolve();
    });
    for (const to of of) send(to, id);
    await within(this.#limitMs, all, 'some do not answer').catch(() => undefined);
    this.#waiting.delete(id);
    return answers;
  }

  /** An answer has come; false when it is too late. */
  answered(from: number, id: number, answer: Answer | undefined): boolean {
    const question = this.#waiting.get(id);
    question?.take(from, answer);
    return question !== undefined;
  }

  /** Nobody need wait for this one. */
  left(who: number): void {
    for (const { missing, take } of this.#waiting.values()) if (missing.has(who)) take(who);
  }
}
