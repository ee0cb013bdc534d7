import { type Clock, memoryStore, type Plan, type PolicyStore, type Store, StoreError } from 'comporta';
import type { StoreReply } from '../../packages/comporta/src/stores/store.js';
import { isAllowed } from '../support/memory-bench.js';

/** What becomes of one call to the store. */
export interface Fate {
  readonly end: 'answer' | 'throw' | 'fail unsent' | 'fail undone' | 'fail done' | 'hang undone' | 'hang done';
  /** Time until it is sent, or dropped because nobody waits any more. */
  readonly sendMs: number;
  readonly replyMs: number;
}

/** One call, as the store knows it. */
export interface Asked {
  readonly operation: keyof PolicyStore;
  /** What was done, once it was. */
  reply?: unknown;
  /** When the answer was given, if ever. */
  answeredUs?: number;
}

export interface Charge {
  readonly subject: string;
  readonly atUs: number;
  readonly cost: number;
  isBack: boolean;
}

const refused = (): StoreError => new StoreError('unavailable', 'connection lost');

/** A correct store behind a bad network: calls are delayed, lost before or after they were done, or never answered. */
export class FaultyStore implements Store {
  readonly kind = 'redis';
  readonly asked: Asked[] = [];
  /** Everything that the store admitted, whether or not anybody heard of it. */
  readonly charges: Charge[] = [];
  readonly #clock: Clock;
  readonly #fates: readonly Fate[];

  constructor(clock: Clock, fates: readonly Fate[]) {
    this.#clock = clock;
    this.#fates = fates;
  }

  bind(plan: Plan): PolicyStore {
    const inner = memoryStore({ clock: this.#clock }).bind(plan);
    return {
      consume: (subject, cost, waiter) =>
        this.#ask('consume', waiter, () => {
          const reply = inner.consume(subject, cost) as StoreReply;
          if (isAllowed(reply)) this.charges.push({ subject, atUs: reply.atUs, cost, isBack: false });
          return reply;
        }),
      peek: (subject, cost, waiter) => this.#ask('peek', waiter, () => inner.peek(subject, cost) as StoreReply),
      refund: (charge, waiter) =>
        this.#ask('refund', waiter, () => {
          const given = inner.refund(charge) as number;
          const found = this.charges.find(
            ({ subject, atUs, cost, isBack }) =>
              !isBack && subject === charge.subject && atUs === charge.atUs && cost === charge.amount,
          );
          if (given > 0 && found !== undefined) found.isBack = true;
          return given;
        }),
      reset: (subject, waiter) => this.#ask('reset', waiter, () => inner.reset(subject) as number),
    };
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  ping(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #ask<T>(operation: Asked['operation'], waiter: { isOver: boolean } | undefined, run: () => T): Promise<T> {
    const call: Asked = { operation };
    const { end, sendMs, replyMs } = this.#fates[this.asked.length % this.#fates.length] as Fate;
    this.asked.push(call);
    if (end === 'throw') throw refused();
    return new Promise<T>((resolve, reject) => {
      const send = (): void => {
        const isLost = waiter?.isOver === true || end === 'fail unsent';
        if (!isLost && !end.endsWith('undone')) call.reply = run();
        if (isLost) reject(refused());
        else if (end.startsWith('fail')) this.#clock.startTimer(replyMs, () => reject(refused()));
        else if (end === 'answer') this.#clock.startTimer(replyMs, answer);
      };
      const answer = (): void => {
        call.answeredUs = this.#clock.nowUs();
        resolve(call.reply as T);
      };
      this.#clock.startTimer(sendMs, send);
    });
  }
}
