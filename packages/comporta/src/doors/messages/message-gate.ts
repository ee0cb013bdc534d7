import { ComportaError, show } from '../../core/errors.js';
import { unawaited } from '../../core/unawaited.js';
import { chain } from '../../http/ask.js';
import { firstMeetings } from '../../http/first-meeting.js';
import type { Gate, Verdict } from '../../http/gate.js';
import { mount, type RateLimitOptions } from '../../http/mount.js';
import { RateLimitRefusal } from '../../http/refusal-error.js';
import { createReport, type Report } from '../../http/report.js';
import { refuseUnsettled } from '../../http/unsettled.js';
import { UNAVAILABLE } from '../../http/verdict.js';
import type { RequestView } from '../../http/view.js';
import { messageOf } from '../../identity/subject.js';
import type { MaybePromise } from '../../stores/store.js';
import { Turns } from './turns.js';

/** Options of a limiter of messages. */
export type MessageOptions<Message> = RateLimitOptions<Message> & {
  /** Most messages of a connection that wait for a decision: 1 to 10 000, 100 by default; others are refused. */
  readonly maxWaiting?: number;
  /** Refusals in a row that end a connection: 1 to 1 000 000, or false for never; 100 by default. */
  readonly closeAfter?: number | false;
};

/** What the sender of a refused message gets; nothing when it is `undefined`. */
export type Reply<Message> = (refusal: RateLimitRefusal, message: Message) => unknown;

/** One connection, as far as its messages are limited. */
export interface MessageSink<Message> {
  viewOf(message: Message): RequestView<Message>;
  deliver(message: Message): void;
  /** Answers the sender of a refused message, unless that is too far behind. Throws for what cannot be sent. */
  tell(said: NonNullable<unknown>, message: Message): void;
  /** Ends the connection. */
  end(refusal: RateLimitRefusal): void;
  /** Told when messages begin to wait for decisions, and when none does any more. */
  hold(isHeld: boolean): void;
}

/** What comes in on one connection, in order. */
export interface MessageIntake<Message> {
  take(message: Message): void;
  /** After all messages that have been taken. */
  after(run: () => void): void;
}

/** One gate for the messages of all connections. */
export class MessageGate<Message extends object> {
  readonly gate: Gate<Message>;
  readonly #check: (message: Message, view: RequestView<Message>) => ReturnType<Gate['check']>;
  readonly #reply: Reply<Message>;
  readonly #report: Report;
  readonly #isFirst: (connection: object) => boolean;
  #isReplyFaulty = false;
  readonly #maxWaiting: number;
  readonly #closeAfter: number;

  constructor({ maxWaiting = 100, closeAfter = 100, ...options }: MessageOptions<Message>, reply: Reply<Message>) {
    if (typeof reply !== 'function') throw wrong('reply', `expected a function, got ${show(reply)}`);
    refuseUnsettled(options, 'a limiter of messages', 'limit the connections themselves: see docs/socket.md');
    this.#maxWaiting = whole('maxWaiting', maxWaiting, 1, 10_000);
    this.#closeAfter = closeAfter === false ? Number.POSITIVE_INFINITY : whole('closeAfter', closeAfter, 1, 1_000_000);
    const { gate, check } = mount<Message>(options as RateLimitOptions<Message>);
    this.#reply = reply;
    this.#report = createReport(options.onError);
    this.#isFirst = firstMeetings(this.#report);
    this.gate = gate;
    this.#check = check;
  }

  /** `undefined` for a connection that the gate limits already. */
  connect(connection: object, sink: MessageSink<Message>): MessageIntake<Message> | undefined {
    return this.#isFirst(connection) ? this.#limit(sink) : undefined;
  }

  #limit(sink: MessageSink<Message>): MessageIntake<Message> {
    const turns = new Turns((isBusy) => sink.hold(isBusy));
    let refusals = 0;
    const isOver = (): boolean => refusals >= this.#closeAfter;
    const conclude = (message: Message, verdict: Verdict): void => {
      if (isOver()) return;
      refusals = verdict.allowed ? 0 : refusals + 1;
      if (verdict.allowed) {
        sink.deliver(message);
        return;
      }
      const refusal = new RateLimitRefusal(verdict);
      this.#answer(refusal, message, sink);
      if (isOver()) sink.end(refusal);
    };
    const decide = (message: Message): MaybePromise<void> => {
      if (isOver()) return;
      return chain(this.#check(message, sink.viewOf(message)), (verdict) => conclude(message, verdict));
    };
    return {
      take: (message) => {
        if (turns.waiting < this.#maxWaiting) turns.run(() => decide(message));
        else conclude(message, UNAVAILABLE);
      },
      after: (run) => turns.run(run),
    };
  }

  /** A fault is said once: it would come with each refusal. */
  #answer(refusal: RateLimitRefusal, message: Message, sink: MessageSink<Message>): void {
    try {
      const said = unawaited(this.#reply(refusal, message));
      if (said instanceof Promise || typeof said === 'function')
        throw new TypeError('it must return what to send at once');
      if (said !== undefined && said !== null) sink.tell(said, message);
    } catch (error) {
      if (!this.#isReplyFaulty) this.#report(wrong('reply', `the function failed: ${messageOf(error)}`));
      this.#isReplyFaulty = true;
    }
  }
}

const wrong = (field: string, message: string): ComportaError =>
  new ComportaError('ERR_OPTION', `${field}: ${message}`, field);

function whole(field: string, value: unknown, min: number, max: number): number {
  if (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max) return value as number;
  throw wrong(field, `expected a whole number from ${min} to ${max}, got ${show(value)}`);
}
