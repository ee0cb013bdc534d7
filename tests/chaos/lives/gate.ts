import { type Box, type Fate, startBox } from '../../support/box.js';

/** The boxes of all clients before one server: what befalls one befalls all, and connections are counted for each. */
export class Gate {
  readonly #boxes: Map<number, Box> = new Map();
  readonly #target: number;
  #fate: Fate = 'pass';
  #delayMs = 0;

  constructor(target: number) {
    this.#target = target;
  }

  /** Where a client is to connect to. */
  async portFor(client: number): Promise<number> {
    const box = this.#boxes.get(client) ?? (await startBox(this.#target));
    this.#boxes.set(client, box);
    box.fate = this.#fate;
    box.delayMs = this.#delayMs;
    return box.port;
  }

  openOf(client: number): number {
    return this.#boxes.get(client)?.open ?? 0;
  }

  set fate(fate: Fate) {
    this.#fate = fate;
    for (const box of this.#boxes.values()) box.fate = fate;
  }

  set delayMs(delayMs: number) {
    this.#delayMs = delayMs;
    for (const box of this.#boxes.values()) box.delayMs = delayMs;
  }

  swallow(): void {
    for (const box of this.#boxes.values()) box.swallow();
  }

  reset(): void {
    for (const box of this.#boxes.values()) box.reset();
  }

  close(): void {
    for (const box of this.#boxes.values()) box.close();
    this.#boxes.clear();
  }
}
