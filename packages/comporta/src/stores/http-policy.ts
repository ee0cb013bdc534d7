import type { Part } from '../algorithms/algorithm.js';
import type { Waiter } from '../core/waiting.js';
import { type WireOperation, wirePlan } from './http-protocol.js';
import { toActionReply, toReply, toWhole } from './http-replies.js';
import type { PolicyPresence } from './presence.js';
import type { Action, ActionReply, Charge, Plan, PolicyStore, StoreReply, Terms } from './store.js';

/** A plan as text of JSON, and its name in the requests of one store. */
export interface NamedPlan {
  readonly name: string;
  readonly text: string;
}

/** Makes one call of the service; rejects with a `StoreError`. */
type Call = (operation: WireOperation, waiter: Waiter | undefined, plan?: NamedPlan) => Promise<unknown>;

export interface Service {
  readonly call: Call;
  readonly host: string;
}

/** Actions whose replies tell the limits' numbers. */
const TOLD: readonly Action['kind'][] = ['charge', 'reward', 'take', 'reserve', 'settle'];

/** A store behind a service, as one policy sees it. */
export class HttpPolicy implements PolicyStore {
  readonly #service: Service;
  readonly #plan: NamedPlan;
  readonly #limits: number;
  readonly #presence: PolicyPresence;

  constructor(plan: Plan, name: string, service: Service, presence: PolicyPresence) {
    this.#service = service;
    this.#plan = { name, text: JSON.stringify(wirePlan(plan)) };
    this.#limits = plan.limits.length;
    this.#presence = presence;
  }

  consume(subject: string, cost: number, waiter?: Waiter, terms?: Terms, id?: string): Promise<StoreReply> {
    return this.#decide('consume', subject, cost, waiter, terms, id);
  }

  peek(subject: string, cost: number, waiter?: Waiter, terms?: Terms, id?: string): Promise<StoreReply> {
    return this.#decide('peek', subject, cost, waiter, terms, id);
  }

  async force(subject: string, amounts: readonly number[], waiter?: Waiter): Promise<number> {
    return toWhole(await this.#call({ op: 'force', plan: this.#plan.name, subject, amounts }, waiter));
  }

  async refund(charge: Charge, waiter?: Waiter): Promise<number> {
    return toWhole(await this.#call({ op: 'refund', plan: this.#plan.name, charge }, waiter));
  }

  async act(action: Action, waiter?: Waiter, terms?: Terms): Promise<ActionReply> {
    const value = await this.#call({ op: 'act', plan: this.#plan.name, action, ...(terms && { terms }) }, waiter);
    const isTold = TOLD.includes(action.kind);
    const reply = toActionReply(value, isTold ? this.#limits : 0);
    return isTold ? this.#heard(reply) : reply;
  }

  async reset(subject: string, waiter?: Waiter): Promise<number> {
    return toWhole(await this.#call({ op: 'reset', plan: this.#plan.name, subject }, waiter));
  }

  /** One node: what is behind the service is the service's to know. */
  shardOf(): string {
    return this.#service.host;
  }

  part(): Part {
    return this.#presence.part;
  }

  peers(): number | undefined {
    return this.#presence.peers;
  }

  async #decide(
    op: 'consume' | 'peek',
    subject: string,
    cost: number,
    waiter: Waiter | undefined,
    terms: Terms | undefined,
    id: string | undefined,
  ): Promise<StoreReply> {
    const about = { ...(terms && { terms }), ...(id && { id }) };
    const value = await this.#call({ op, plan: this.#plan.name, subject, cost, ...about }, waiter);
    return this.#heard(toReply(value, this.#limits));
  }

  /** Who is answered is alive. */
  #heard<T extends StoreReply>(reply: T): T {
    this.#presence.touch(reply.atUs / 1000);
    return reply;
  }

  #call(operation: WireOperation, waiter: Waiter | undefined): Promise<unknown> {
    return this.#service.call(operation, waiter, this.#plan);
  }
}
