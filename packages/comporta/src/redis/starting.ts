import type { Clock } from '../core/time.js';
import type { Waiter } from '../core/waiting.js';
import type { RedisNode } from './client.js';

/** So long after its creation a client may still be connecting; a server that is away longer is away. */
const STARTING_MS = 1000;
/** How often those who wait look for the connection, together. */
const LOOK_EVERY_MS = 2;
/** Calls stop waiting so long before their time limit: then they are known not to have been sent. */
const MARGIN_MS = 5;

/** What a client says that has neither a connection yet nor a reason for having none. */
export const CONNECTING = 'still connecting';

/** The time in which a client makes its first connections. */
export class Starting {
  readonly #clock: Clock;
  readonly #sinceMs: number;
  /** Nodes that calls could be given to, for as long as it matters. */
  #met: WeakSet<RedisNode> | undefined = new WeakSet();
  /** Somebody has waited in vain: nobody else does. */
  #isPatient = true;
  #look: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = this.#nowMs();
  }

  /** A call could be given to a node. */
  met(node: RedisNode): void {
    this.#met?.add(node);
  }

  /** Connections are made in the background, to the nodes of a cluster with their first use. */
  isFirst(node: RedisNode | undefined): boolean {
    if (Math.abs(this.#nowMs() - this.#sinceMs) >= STARTING_MS) this.#met = undefined;
    return this.#met !== undefined && (node === undefined || !this.#met.has(node));
  }

  /**
   * The node, once it can be given a call: what comes before the first connection waits for it, for most of its time
   * limit. `undefined` when it does not come, or when it is known why.
   */
  async wait(
    find: () => RedisNode | undefined,
    why: () => string | undefined,
    waiter: Waiter | undefined,
  ): Promise<RedisNode | undefined> {
    const endMs = this.#nowMs() + (waiter?.timeoutMs ?? STARTING_MS) - MARGIN_MS;
    for (;;) {
      const node = find();
      if (waiter?.isOver === true) return undefined;
      if (node?.isReady() === true) return node;
      if (!this.#isPatient || !this.isFirst(node) || (why() ?? CONNECTING) !== CONNECTING) return undefined;
      if (this.#nowMs() >= endMs) {
        this.#isPatient = false;
        return undefined;
      }
      await this.#next();
    }
  }

  #next(): Promise<void> {
    this.#look ??= new Promise((resolve) => {
      this.#clock.startTimer(LOOK_EVERY_MS, () => {
        this.#look = undefined;
        resolve();
      });
    });
    return this.#look;
  }

  #nowMs(): number {
    return this.#clock.nowUs() / 1000;
  }
}
