import type { Part } from '../algorithms/algorithm.js';
import { compose, type Script } from '../algorithms/compose.js';
import type { Gates } from '../algorithms/compose-gates.js';
import { StoreError, type Waiter } from '../core/waiting.js';
import type { ScriptRunner } from '../redis/run.js';
import { slotOf } from '../redis/slot.js';
import { Batcher, type Carrier } from './batch.js';
import { type Asked, mostAtOnce, partsOfAll } from './batch-parts.js';
import { gateArguments, gatesOf, PolicyKeys } from './gates.js';
import { escapeSubject, partOf } from './keyspace.js';
import { type PolicyPresence, type Presence, uncounted } from './presence.js';
import { partsOf } from './redis-actions.js';
import { decode, decodeAction, decodeMany, toNumber } from './redis-replies.js';
import { SentArguments, type ServerTime } from './server-time.js';
import {
  type Action,
  type ActionReply,
  type Charge,
  type Plan,
  type PolicyStore,
  refundTtlMs,
  type StoreReply,
  type Terms,
} from './store.js';

/** What all policies of one store have in common. */
export interface Shared {
  readonly runner: ScriptRunner;
  readonly presence: Presence;
  readonly time: ServerTime;
  readonly isCluster: boolean;
  /** Decisions that are asked for while others are in flight go together. */
  readonly areBatched: boolean;
  readonly prefix: string;
  readonly secret: string | undefined;
}

/** What is sent around the limits' arguments. */
interface Parts {
  readonly keys: readonly string[];
  /** The clock, the cost and whatever else comes before the limits' arguments. */
  readonly head: readonly string[];
  readonly tail?: readonly string[];
}

/** A call may be early for one period and, asked again, late for the same; more often a clock must be broken. */
const ATTEMPTS_MAX = 3;

/** A Redis store as one policy sees it. */
export class RedisPolicy implements PolicyStore {
  readonly #plan: Plan;
  readonly #shared: Shared;
  readonly #presence: PolicyPresence;
  readonly #keyspace: PolicyKeys;
  readonly #keysOf: (escaped: string) => string[];
  readonly #gates: Gates;
  readonly #isGated: boolean;
  /** Decisions hold places, in the name of their ids. */
  readonly #holds: boolean;
  readonly #gateArguments: readonly string[];
  readonly #arguments: SentArguments;
  readonly #consume: Script;
  readonly #peek: Script;
  readonly #refundTtlMs: string;
  readonly #decode: (reply: unknown) => StoreReply;
  readonly #batcher: Batcher<Asked, StoreReply> | undefined;
  #lastSubject = '';
  #lastEscaped = '';

  constructor(plan: Plan, shared: Shared) {
    this.#plan = plan;
    this.#shared = shared;
    this.#presence = plan.isUncounted === true ? uncounted(plan.policy) : shared.presence.of(plan.policy);
    this.#keyspace = new PolicyKeys(plan, shared.prefix);
    this.#keysOf = this.#keyspace.limits;
    this.#gates = gatesOf(plan);
    this.#gateArguments = gateArguments(plan);
    this.#isGated = plan.blocks !== undefined || plan.haveTerms === true;
    this.#holds = plan.limits.some(({ algorithm }) => algorithm.holds);
    this.#arguments = new SentArguments(plan.limits);
    this.#consume = compose('consume', plan.limits, this.#gates);
    this.#peek = compose('peek', plan.limits, this.#gates);
    this.#decode = (reply) => this.#heard(decode(reply, plan.limits.length));
    this.#refundTtlMs = String(refundTtlMs(plan));
    this.#batcher = shared.areBatched ? new Batcher(this.#carrier()) : undefined;
  }

  consume(subject: string, cost: number, waiter?: Waiter, terms?: Terms, id?: string): Promise<StoreReply> {
    const asked = this.#asked(subject, cost, terms, id);
    // Of nobody with a time limit none could say when a call in flight holds the others back no longer.
    if (this.#batcher === undefined || waiter === undefined) return this.#decide(this.#consume, asked, waiter);
    return this.#batcher.ask(this.#shared.isCluster ? asked.escaped : '', asked, waiter);
  }

  peek(subject: string, cost: number, waiter?: Waiter, terms?: Terms): Promise<StoreReply> {
    return this.#decide(this.#peek, this.#asked(subject, cost, terms), waiter);
  }

  refund({ subject, decisionId, atUs, amount, isPart }: Charge, waiter?: Waiter): Promise<number> {
    const escaped = this.#escape(subject);
    const keys = [...this.#keysOf(escaped), this.#keyspace.refund(escaped, decisionId)];
    const head = ['', String(amount), String(atUs), this.#refundTtlMs];
    const parts = { keys, head, tail: [isPart === true ? '' : decisionId] };
    return this.#ask(compose('refund', this.#plan.limits), escaped, parts, waiter, toNumber);
  }

  force(subject: string, amounts: readonly number[], waiter?: Waiter): Promise<number> {
    const escaped = this.#escape(subject);
    const keys = this.#keysOf(escaped);
    const parts = { keys, head: ['', '0'], tail: amounts.map(String) };
    return this.#ask(compose('force', this.#plan.limits), escaped, parts, waiter, toNumber);
  }

  act(action: Action, waiter?: Waiter, terms?: Terms): Promise<ActionReply> {
    const escaped = this.#escape(action.subject);
    const { limits, isTold, ...parts } = partsOf(action, this.#keyspace, escaped, terms);
    const script = compose(action.kind, limits, this.#gates);
    const decoder = (reply: unknown) => {
      const decoded = decodeAction(reply, isTold ? limits.length : 0);
      return isTold ? this.#heard(decoded) : decoded;
    };
    if (limits.length === 0) return this.#run(script, escaped, parts, [], waiter, decoder);
    return this.#ask(script, escaped, parts, waiter, decoder);
  }

  reset(subject: string, waiter?: Waiter): Promise<number> {
    const escaped = this.#escape(subject);
    const keys = this.#keyspace.all(escaped);
    return this.#run(compose('reset', []), escaped, { keys, head: [] }, [], waiter, toNumber);
  }

  shardOf(subject: string): string {
    return this.#shared.runner.addressOf(this.#slotOf(this.#escape(subject)));
  }

  part(): Part {
    return this.#presence.part;
  }

  peers(): number | undefined {
    return this.#presence.peers;
  }

  suspect(subject: string): void {
    this.#shared.runner.suspect(this.#slotOf(this.#escape(subject)));
  }

  /** One decision asks several times for the same subject. */
  #escape(subject: string): string {
    if (subject !== this.#lastSubject) {
      const escaped = escapeSubject(subject, this.#shared.secret);
      this.#lastEscaped = this.#plan.split === undefined ? escaped : partOf(escaped, this.#plan.split);
      this.#lastSubject = subject;
    }
    return this.#lastEscaped;
  }

  #slotOf(escaped: string): number {
    return this.#shared.isCluster ? slotOf(escaped) : 0;
  }

  #asked(subject: string, cost: number, terms: Terms | undefined, id = ''): Asked {
    const gates = terms === undefined ? this.#gateArguments : gateArguments(this.#plan, terms);
    return { escaped: this.#escape(subject), cost: String(cost), tail: this.#holds ? [...gates, id] : gates };
  }

  #keysFor(escaped: string): string[] {
    const keys = this.#keysOf(escaped);
    if (this.#isGated) keys.push(...this.#keyspace.gates(escaped));
    return keys;
  }

  #decide(script: Script, { escaped, cost, tail }: Asked, waiter: Waiter | undefined): Promise<StoreReply> {
    return this.#ask(script, escaped, { keys: this.#keysFor(escaped), head: ['', cost], tail }, waiter, this.#decode);
  }

  #carrier(): Carrier<Asked, StoreReply> {
    const { limits } = this.#plan;
    const script = compose('consumeMany', limits, this.#gates);
    return {
      itemsMax: mostAtOnce(limits),
      one: (asked, waiter) => this.#decide(this.#consume, asked, waiter),
      many: (all, waiter) => {
        const parts = partsOfAll(all, (escaped) => this.#keysFor(escaped));
        const word = (reply: unknown) => this.#heard(decodeMany(reply, limits, all)).entries;
        return this.#ask(script, (all[0] as Asked).escaped, parts, waiter, word);
      },
    };
  }

  /** Who is answered is alive. */
  #heard<T extends { readonly atUs: number }>(reply: T): T {
    this.#presence.touch(reply.atUs / 1000);
    return reply;
  }

  /** Runs a script on the limits with their arguments. */
  #ask<T>(
    script: Script,
    escaped: string,
    parts: Parts,
    waiter: Waiter | undefined,
    decode: (reply: unknown) => T,
  ): Promise<T> {
    return this.#arguments.areTimed
      ? this.#askInTime(script, escaped, parts, waiter, decode)
      : this.#run(script, escaped, parts, this.#arguments.always, waiter, decode);
  }

  /** A script that was given the arguments of another time says which time it is and has done nothing else. */
  async #askInTime<T>(
    script: Script,
    escaped: string,
    parts: Parts,
    waiter: Waiter | undefined,
    decode: (reply: unknown) => T,
  ): Promise<T> {
    const { time } = this.#shared;
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const args = this.#arguments.at(time.nowMs());
      const reply = await this.#run(script, escaped, parts, args, waiter, (value) => value);
      const atUs = Array.isArray(reply) ? toNumber(reply[0]) : undefined;
      if (atUs !== undefined) time.learn(atUs);
      if (!Array.isArray(reply) || reply.length > 1) return decode(reply);
      if (waiter?.isOver === true) break;
    }
    throw new StoreError('unavailable', 'the clock of the server moved during the call', {
      isUnsent: true,
      isAnswer: true,
    });
  }

  #run<T>(
    script: Script,
    escaped: string,
    { keys, head, tail = [] }: Parts,
    args: readonly string[],
    waiter: Waiter | undefined,
    decode: (reply: unknown) => T,
  ): Promise<T> {
    const slot = this.#slotOf(escaped);
    const command = ['EVALSHA', script.sha, String(keys.length), ...keys, ...head, ...args, ...tail];
    return this.#shared.runner.run({ script, slot, command, waiter }, decode);
  }
}
