import type { Message } from './payloads/message.js';

/** Messages for one sink. When it is full, one goes: the oldest that a later one supersedes, or else the oldest. */
export class AlertQueue {
  readonly #messages: Message[] = [];
  readonly #sizeMax: number;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  get size(): number {
    return this.#messages.length;
  }

  has(key: string): boolean {
    return this.#messages.some(({ alert }) => alert.key === key);
  }

  /** Adds a message, and returns the one that had to go for it. */
  push(message: Message): Message | undefined {
    this.#messages.push(message);
    if (this.#messages.length <= this.#sizeMax) return undefined;
    return this.#messages.splice(this.#superseded(), 1)[0];
  }

  shift(): Message | undefined {
    return this.#messages.shift();
  }

  /** Place of the oldest message about something that a later one is about too; 0 when there is none. */
  #superseded(): number {
    const last = new Map(this.#messages.map(({ alert }, i) => [alert.key, i]));
    return Math.max(
      0,
      this.#messages.findIndex(({ alert }, i) => last.get(alert.key) !== i),
    );
  }
}
