import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Field } from 'comporta/http';
import { startTimer, stopTimer } from '../time.js';
import { answer, answerFault } from './answer.js';
import { type Fault, faults } from './problems.js';
import { appendOurs } from './response-headers.js';
import { waitsForContinue } from './target.js';

export interface EchoOptions {
  /** Rate-limit fields for the response. */
  readonly headers: readonly Field[];
  /** Longest wait for a part of the body. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly isClosing: () => boolean;
}

/** The built-in upstream: answers with what it received. Counts the body without keeping it. */
export function echo(request: IncomingMessage, response: ServerResponse, options: EchoOptions): void {
  let bodyBytes = 0;
  if (waitsForContinue(request)) response.writeContinue();
  const count = (chunk: Buffer): void => {
    bodyBytes += chunk.length;
    timer.refresh();
    if (bodyBytes > options.maxBytes) fail(faults.bodyTooLarge);
  };
  const finish = (): void => {
    leave();
    answerEcho(request, response, bodyBytes, options);
  };
  const leave = (): void => {
    stopTimer(timer);
    request.off('data', count).off('end', finish).off('close', leave);
  };
  const fail = (fault: Fault): void => {
    leave();
    answerFault(request, response, fault, true);
  };
  const timer = startTimer(options.timeoutMs, () => fail(faults.slowRequest));
  request.on('data', count).on('end', finish).on('close', leave);
}

function answerEcho(request: IncomingMessage, response: ServerResponse, bodyBytes: number, options: EchoOptions): void {
  const { method, url, headers } = request;
  const list = ['content-type', 'application/json'];
  appendOurs(list, options.headers, headers.origin !== undefined);
  const body = `${JSON.stringify({ method, path: url, headers, bodyBytes }, undefined, 2)}\n`;
  answer(request, response, 200, list, body, options.isClosing());
}
