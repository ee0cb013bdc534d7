import type { Clock } from '../core/time.js';
import type { RedisClient, RedisNode } from './client.js';
import { CONNECTING_MS } from './silence.js';

/** A connection that owes an answer for so long is begun anew. */
const GIVE_UP_MS = 1000;

export interface Question<T> {
  readonly command: readonly string[];
  /** What a reply says; throws with the reason when it says nothing. */
  readonly read: (reply: unknown) => T;
  /** An answer holds until the next question is unanswered for so long. */
  readonly patienceMs: number;
}

/** One connection that is asked the same again and again, one question at a time, and its last answer. */
export class Asked<T> {
  readonly client: RedisClient;
  readonly #question: Question<T>;
  readonly #clock: Clock;
  #askedAtMs: number | undefined;
  #downSinceMs: number | undefined;
  #answer: T | undefined;
  /** Why the last question got no answer, when the server said so. */
  fault: string | undefined;

  constructor(client: RedisClient, question: Question<T>, clock: Clock) {
    this.client = client;
    this.#question = question;
    this.#clock = clock;
  }

  /** `undefined` when the server does not answer, or not that. */
  get answer(): T | undefined {
    const isOverdue = this.#owesForMs() > this.#question.patienceMs;
    return isOverdue || this.client.nodeOf(0)?.isReady() !== true ? undefined : this.#answer;
  }

  /** Asks, unless an answer is still owed; `then` is called when there is something new. */
  ask(then: () => void): void {
    const node = this.client.nodeOf(0);
    if (node?.isReady() !== true) {
      this.#answer = undefined;
      this.#wasDown(node);
      return;
    }
    this.#downSinceMs = undefined;
    if (this.#askedAtMs !== undefined) {
      if (this.#owesForMs() > GIVE_UP_MS) node.reconnect?.();
      return;
    }
    this.#askedAtMs = this.#nowMs();
    const settle = (answer: T | undefined, fault: string | undefined) => {
      this.#askedAtMs = undefined;
      this.#answer = answer;
      this.fault = fault;
      then();
    };
    const { command, read } = this.#question;
    const refuse = (error: unknown) => settle(undefined, error instanceof Error ? error.message : String(error));
    node
      .send(command)
      .then(read)
      .then((answer) => settle(answer, undefined), refuse);
  }

  /** What is asked here no call may ever go to, which would begin it anew. */
  #wasDown(node: RedisNode | undefined): void {
    const nowMs = this.#nowMs();
    // A clock that stepped back: begin to wait anew.
    this.#downSinceMs = Math.min(this.#downSinceMs ?? nowMs, nowMs);
    if (nowMs - this.#downSinceMs < CONNECTING_MS) return;
    this.#downSinceMs = undefined;
    node?.reconnect?.();
  }

  #owesForMs(): number {
    return this.#askedAtMs === undefined ? 0 : Math.abs(this.#nowMs() - this.#askedAtMs);
  }

  #nowMs(): number {
    return this.#clock.nowUs() / 1000;
  }
}

/** Names and values of a reply, which are a list in RESP2 and a map in RESP3. */
export function fieldsOf(reply: unknown): ReadonlyMap<string, unknown> {
  if (reply instanceof Map) return reply;
  if (!Array.isArray(reply)) return new Map(Object.entries(reply ?? {}));
  const pairs = reply.flatMap((name, i) => (i % 2 === 0 ? [[String(name), reply[i + 1]] as const] : []));
  return new Map(pairs);
}
