import type { IncomingMessage } from 'node:http';
import type { Gate } from 'comporta/http';

/** The gate of one configuration. Once replaced it stays open for as long as somebody still needs it. */
export class Rules {
  /** `undefined` when there are no policies. */
  readonly gate: Gate<IncomingMessage> | undefined;
  /** Decisions still being made, and responses under way that change them. */
  #pending = 0;
  #isRetired = false;
  readonly #onEnd: (() => void)[] = [];

  constructor(gate: Gate<IncomingMessage> | undefined) {
    this.gate = gate;
  }

  /** Somebody needs the gate until {@link Rules.leave}. */
  enter(): void {
    this.#pending++;
  }

  leave(): void {
    this.#pending--;
    if (this.#isRetired && this.#pending === 0) void this.#end();
  }

  /** Takes no new requests; resolves when the gate was closed, after what it still owes. */
  retire(): Promise<void> {
    this.#isRetired = true;
    return new Promise((resolve) => {
      this.#onEnd.push(resolve);
      if (this.#pending === 0) void this.#end();
    });
  }

  async #end(): Promise<void> {
    await this.gate?.close().catch(() => undefined);
    for (const resolve of this.#onEnd.splice(0)) resolve();
  }
}
