import type { Log } from '../log.js';
import type { AlertClock } from './clock.js';
import type { Message } from './payloads/message.js';
import { AlertQueue } from './queue.js';
import { judge, type RetrySettings, type Verdict } from './retry.js';
import type { Sink } from './sinks.js';
import type { Transport } from './transport.js';

export interface DeliveryOptions {
  readonly sink: Sink;
  readonly transport: Transport;
  readonly settings: RetrySettings;
  readonly clock: AlertClock;
  readonly log: Log;
}

/** Brings messages to one sink, one after the other, in a queue of its own: a dead sink holds up no other. */
export class Delivery {
  readonly sink: Sink;
  readonly #options: DeliveryOptions;
  readonly #queue: AlertQueue;
  readonly #abort: AbortController = new AbortController();
  #current: Message | undefined;
  #work: Promise<void> | undefined;
  #isEnding = false;
  #wake: () => void = () => undefined;
  #isFailing = false;
  #dropped = 0;

  constructor(options: DeliveryOptions) {
    this.sink = options.sink;
    this.#options = options;
    this.#queue = new AlertQueue(options.settings.queueMax);
  }

  /** Messages that were lost: pushed out of the queue, or given up. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Whether a message about this waits to be sent. */
  has(key: string): boolean {
    return this.#current?.alert.key === key || this.#queue.has(key);
  }

  /** Says so if nothing can be sent there now: better at the start than in the first outage. Never rejects. */
  async check(): Promise<void> {
    const { sink, transport, settings, log } = this.#options;
    const reason = await transport.reach(sink.url, settings.timeoutMs, this.#abort.signal);
    if (reason === undefined || this.#isEnding) return;
    log.warn('an alert sink cannot be reached now; alerts will be tried all the same', { sink: sink.name, reason });
  }

  /** Never throws and never waits. */
  offer(message: Message): void {
    if (this.#isEnding) return;
    if (this.#queue.push(message) !== undefined) this.#lose('the queue is full');
    this.#work ??= this.#sendAll();
  }

  /** Gives every waiting message one more attempt, all within `limitMs`, and ends. */
  async close(limitMs: number): Promise<void> {
    this.#isEnding = true;
    this.#wake();
    const stopTimer = this.#options.clock.startTimer(limitMs, () => this.#abort.abort());
    await this.#work;
    stopTimer();
    this.#abort.abort();
    await this.#options.transport.close();
  }

  async #sendAll(): Promise<void> {
    for (;;) {
      this.#current = this.#queue.shift();
      if (this.#current === undefined) break;
      await this.#send(this.#current);
    }
    this.#work = undefined;
  }

  async #send(message: Message): Promise<void> {
    for (let attempt = 1; !this.#abort.signal.aborted; attempt++) {
      const isLast = this.#isEnding;
      const verdict = await this.#attempt(message, attempt);
      if (verdict.kind === 'sent') return this.#succeeded();
      if (verdict.kind === 'given-up' || isLast) return this.#lose(verdict.reason);
      this.#failed(verdict.reason);
      await this.#wait(verdict.waitMs);
    }
    this.#lose('the server stops');
  }

  async #attempt(message: Message, attempt: number): Promise<Verdict> {
    const { sink, transport, settings, clock } = this.#options;
    const payload = sink.build(message, clock.nowMs());
    const outcome = await transport.post(sink.url, payload, settings.timeoutMs, this.#abort.signal);
    return judge(outcome, attempt, settings, clock.nowMs(), clock.random());
  }

  /** Ends early when the server stops. */
  #wait(waitMs: number): Promise<void> {
    if (this.#isEnding) return Promise.resolve();
    return new Promise((resolve) => {
      const stopTimer = this.#options.clock.startTimer(waitMs, resolve);
      this.#wake = () => {
        stopTimer();
        resolve();
      };
    });
  }

  /** One line when a sink begins to fail, and one when it takes messages again. */
  #failed(reason: string): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#options.log.warn('an alert could not be sent, trying again', { sink: this.sink.name, reason });
  }

  /** One line for the first loss; the rest are counted. */
  #lose(reason: string): void {
    this.#dropped++;
    this.#isFailing = true;
    if (this.#dropped > 1) return;
    this.#options.log.error('an alert was lost; more are counted only', { sink: this.sink.name, reason });
  }

  #succeeded(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#options.log.info('alerts are sent again', { sink: this.sink.name, lost: this.#dropped });
    this.#dropped = 0;
  }
}
