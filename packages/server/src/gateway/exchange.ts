import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Field } from 'comporta/http';
import type { Dispatcher } from 'undici';
import { startTimer, stopTimer, type Timer } from '../time.js';
import { answerFault, endAfterBody } from './answer.js';
import { RequestBody } from './body.js';
import { type Fault, faults, upstreamFault } from './problems.js';
import { clientHeaders } from './response-headers.js';
import { waitsForContinue } from './target.js';
import { causeOf } from './upstream-log.js';

/** What may wait for a client that does not read, without being timed. */
const UNREAD_MAX_BYTES = 65_536;

export interface ExchangeOptions {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Rate-limit fields for the response. */
  readonly headers: readonly Field[];
  readonly timeoutMs: number;
  /** How long a client may stop reading. */
  readonly stallMs: number;
  readonly isClosing: () => boolean;
  /** Told that the upstream's answer begins. */
  readonly onAnswer: () => void;
  /** Told why the upstream did not answer, or not to the end. */
  readonly onFailure: (cause: string) => void;
}

/**
 * One request between a client and an upstream: relays the response with back-pressure, and ends each
 * side when the other one ends. Whatever happens, the client gets one answer or a cut connection.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #body: RequestBody | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #timer: Timer;
  /** The client has its answer, or is gone. */
  #isOver = false;
  #isRelaying = false;
  #hasData = false;
  #hasDrainListener = false;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#request = options.request;
    this.#response = options.response;
    this.#timer = startTimer(options.timeoutMs, () => this.#expire());
    options.response.on('close', () => this.#clientGone());
  }

  /** The request's body for the upstream, cut when it is larger than allowed. */
  takeBody(maxBytes: number): RequestBody {
    this.#body = new RequestBody(this.#request, maxBytes, () => void (!this.#isRelaying && this.#timer.refresh()));
    return this.#body;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new Error('the client has gone'));
    // From here on somebody wants the body.
    else if (waitsForContinue(this.#request)) this.#response.writeContinue();
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    message?: string,
  ): void {
    if (status < 200 || this.#isOver) return;
    stopTimer(this.#timer);
    this.#isRelaying = true;
    this.#options.onAnswer();
    const { request, response, headers: ours, isClosing } = this.#options;
    const list = clientHeaders(headers, ours, request.headers.origin !== undefined);
    // The upstream answers before it has read everything: what is still to come is not for a next request.
    const isEarly = this.#body !== undefined && !request.complete;
    if (isEarly || isClosing()) list.push('connection', 'close');
    const isUsual = message === undefined || message === STATUS_CODES[status] || !/^[\x20-\x7e]+$/.test(message);
    if (isUsual) response.writeHead(status, list);
    else response.writeHead(status, message, list);
    process.nextTick(flushHeaders, this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#hasData = true;
    if (this.#isOver || this.#response.write(chunk)) return;
    controller.pause();
    this.#timer = startTimer(this.#options.stallMs, () => this.#response.destroy());
    if (this.#hasDrainListener) return;
    this.#hasDrainListener = true;
    this.#response.on('drain', () => {
      stopTimer(this.#timer);
      controller.resume();
    });
  }

  onResponseEnd(_: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#isOver) return;
    this.#finish();
    for (const name in trailers) {
      const value = trailers[name];
      if (value !== undefined) this.#response.addTrailers({ [name]: value as string });
    }
    if (this.#body === undefined || this.#request.complete) {
      this.#response.end();
    } else {
      this.#body.destroy();
      endAfterBody(this.#request, this.#response);
    }
    if (this.#response.writableLength > UNREAD_MAX_BYTES) this.#watchReader();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return;
    if (this.#body?.isTooLarge === true) return void this.#fail(faults.bodyTooLarge);
    this.#options.onFailure(causeOf(error));
    this.#fail(upstreamFault(error));
  }

  /** Headers of a slow stream do not wait for its first part. */
  flushHeaders(): void {
    if (!this.#isOver && !this.#hasData) this.#response.flushHeaders();
  }

  /** The upstream is done, but the client has much left to read. */
  #watchReader(): void {
    const response = this.#response;
    const timer = startTimer(this.#options.stallMs, () => response.destroy());
    response.on('drain', () => timer.refresh());
    response.on('close', () => stopTimer(timer));
  }

  #expire(): void {
    const isRequestLate = this.#body !== undefined && !this.#request.complete;
    if (!isRequestLate) this.#options.onFailure('no answer in time');
    this.#fail(isRequestLate ? faults.slowRequest : faults.slowUpstream, isRequestLate);
    this.#controller?.abort(new Error('timeout'));
  }

  #fail(fault: Fault, isLost = false): void {
    if (this.#isOver) return;
    this.#finish();
    this.#body?.destroy();
    answerFault(this.#request, this.#response, fault, isLost || this.#options.isClosing());
  }

  #clientGone(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#body?.destroy();
    this.#controller?.abort(new Error('the client has gone'));
  }

  #finish(): void {
    this.#isOver = true;
    stopTimer(this.#timer);
  }
}

function flushHeaders(exchange: Exchange): void {
  exchange.flushHeaders();
}
