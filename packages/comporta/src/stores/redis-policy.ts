import type { Part } from '../algorithms/algorithm.js';
import { compose, type Script } from '../algorithms/compose.js';
import { StoreError, type Waiter } from '../core/waiting.js';
import type { ScriptRunner } from '../redis/run.js';
import { slotOf } from '../redis/slot.js';
import { escapeSubject, keysOf, refundKey } from './keyspace.js';
import type { Presence } from './presence.js';
import { type Charge, type Plan, type PolicyStore, refundTtlMs, type StoreReply } from './store.js';

/** What all policies of one store have in common. */
export interface Shared {
  readonly runner: ScriptRunner;
  readonly presence: Presence;
  readonly isCluster: boolean;
  readonly prefix: string;
  readonly secret: string | undefined;
}

/** A Redis store as one policy sees it. */
export class RedisPolicy implements PolicyStore {
  readonly #plan: Plan;
  readonly #shared: Shared;
  readonly #keysOf: (escaped: string) => string[];
  readonly #arguments: readonly string[];
  readonly #consume: Script;
  readonly #peek: Script;
  readonly #refundTtlMs: string;
  readonly #decode: (reply: unknown) => StoreReply;
  #lastSubject = '';
  #lastEscaped = '';

  constructor(plan: Plan, shared: Shared) {
    this.#plan = plan;
    this.#shared = shared;
    this.#keysOf = keysOf(plan, shared.prefix);
    this.#arguments = plan.limits.flatMap((limit) => limit.args.map(String));
    this.#consume = compose('consume', plan.limits);
    this.#peek = compose('peek', plan.limits);
    this.#decode = (reply) => {
      const decoded = decode(reply, plan.limits.length);
      shared.presence.touch(decoded.atUs / 1000);
      return decoded;
    };
    this.#refundTtlMs = String(refundTtlMs(plan));
  }

  consume(subject: string, cost: number, waiter?: Waiter): Promise<StoreReply> {
    return this.#decide(this.#consume, subject, cost, waiter);
  }

  peek(subject: string, cost: number, waiter?: Waiter): Promise<StoreReply> {
    return this.#decide(this.#peek, subject, cost, waiter);
  }

  refund({ subject, decisionId, atUs, amount }: Charge, waiter?: Waiter): Promise<number> {
    const escaped = this.#escape(subject);
    const keys = [...this.#keysOf(escaped), refundKey(this.#plan, this.#shared.prefix, escaped, decisionId)];
    const args = ['', String(amount), String(atUs), this.#refundTtlMs, ...this.#arguments];
    return this.#run(compose('refund', this.#plan.limits), escaped, [...keys, ...args], keys.length, waiter, toNumber);
  }

  force(subject: string, amounts: readonly number[], waiter?: Waiter): Promise<number> {
    const escaped = this.#escape(subject);
    const keys = this.#keysOf(escaped);
    const parts = [...keys, '', '0', ...this.#arguments, ...amounts.map(String)];
    return this.#run(compose('force', this.#plan.limits), escaped, parts, keys.length, waiter, toNumber);
  }

  reset(subject: string, waiter?: Waiter): Promise<number> {
    const escaped = this.#escape(subject);
    const keys = this.#keysOf(escaped);
    return this.#run(compose('reset', []), escaped, keys, keys.length, waiter, toNumber);
  }

  shardOf(subject: string): string {
    return this.#shared.runner.addressOf(this.#slotOf(this.#escape(subject)));
  }

  part(): Part {
    return this.#shared.presence.part;
  }

  suspect(subject: string): void {
    this.#shared.runner.suspect(this.#slotOf(this.#escape(subject)));
  }

  /** One decision asks several times for the same subject. */
  #escape(subject: string): string {
    if (subject !== this.#lastSubject) {
      this.#lastEscaped = escapeSubject(subject, this.#shared.secret);
      this.#lastSubject = subject;
    }
    return this.#lastEscaped;
  }

  #slotOf(escaped: string): number {
    return this.#shared.isCluster ? slotOf(escaped) : 0;
  }

  #decide(script: Script, subject: string, cost: number, waiter: Waiter | undefined): Promise<StoreReply> {
    const escaped = this.#escape(subject);
    const parts = this.#keysOf(escaped);
    const keyCount = parts.length;
    parts.push('', String(cost), ...this.#arguments);
    return this.#run(script, escaped, parts, keyCount, waiter, this.#decode);
  }

  #run<T>(
    script: Script,
    escaped: string,
    parts: readonly string[],
    keyCount: number,
    waiter: Waiter | undefined,
    decode: (reply: unknown) => T,
  ): Promise<T> {
    const slot = this.#slotOf(escaped);
    const command = ['EVALSHA', script.sha, String(keyCount), ...parts];
    return this.#shared.runner.run({ script, slot, command, waiter }, decode);
  }
}

/** A script's reply: the server's time, then four numbers per limit. Anything else is a fault of the client. */
function decode(reply: unknown, limits: number): StoreReply {
  if (!Array.isArray(reply) || reply.length !== 1 + 4 * limits) throw unexpected(reply);
  const [atUs, ...numbers] = reply as unknown[];
  return { atUs: toNumber(atUs), numbers: numbers.map(toNumber) };
}

/** A whole number of a reply, whatever the protocol made of it. */
export function toNumber(value: unknown): number {
  const number = typeof value === 'number' ? value : Number(value);
  if (!Number.isSafeInteger(number)) throw unexpected(value);
  return number;
}

function unexpected(reply: unknown): StoreError {
  return new StoreError(
    'misconfigured',
    `the client returned ${typeof reply} where a script answers integers; does it transform replies?`,
  );
}
