import type { Waiter } from '../core/waiting.js';
import type { MaybePromise, StoreReply } from '../stores/store.js';
import type { Ask } from './asker.js';
import type { Question, Sent } from './question.js';

/** What is done around a question to the store. */
export interface Answering {
  start(question: Question<unknown>, waiter: Waiter): MaybePromise<StoreReply>;
  /** The store has answered what was asked then. */
  heard(question: Question<unknown>, sent: Sent | undefined, reply: StoreReply, node: string): void;
  /** Answers in place of the store. */
  standIn<R>(question: Question<R>, error: unknown, node: string): R;
}

/** A blocked subject has no numbers. */
export const isAdmitted = ({ numbers }: StoreReply): boolean =>
  numbers.length > 0 && numbers.every((n, i) => i % 4 !== 1 || n === 0);

/** A question that is put to the store. An object, since each function that is made for a call costs as much. */
export class Posed<R> implements Ask<StoreReply, R> {
  readonly subject: string;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number | undefined;
  readonly #question: Question<R>;
  readonly #by: Answering;
  /** When it was put, where refusals are remembered. */
  readonly #sent: Sent | undefined;

  constructor(question: Question<R>, by: Answering, sent: Sent | undefined) {
    this.subject = question.subject;
    this.signal = question.signal;
    this.timeoutMs = question.timeoutMs;
    this.#question = question;
    this.#by = by;
    this.#sent = sent;
  }

  start(waiter: Waiter): MaybePromise<StoreReply> {
    return this.#by.start(this.#question, waiter);
  }

  onValue(reply: StoreReply, node: string): R {
    this.#by.heard(this.#question, this.#sent, reply, node);
    return this.#question.word(reply);
  }

  onError(error: unknown, node: string): R {
    return this.#by.standIn(this.#question, error, node);
  }
}
