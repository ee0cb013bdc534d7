import type { IncomingMessage, ServerResponse } from 'node:http';
import { startTimer, stopTimer } from '../time.js';
import type { Fault } from './problems.js';
import { hasBody, hasKnownCoding, waitsForContinue } from './target.js';

/** Bodies up to this size are read and thrown away, so that the connection can be kept. */
const DRAIN_MAX_BYTES = 65_536;
/** How much of a larger body, and for how long, is thrown away before the connection ends. */
const LINGER_MAX_BYTES = 1_048_576;
const LINGER_MS = 1000;

export const PROBLEM_JSON = 'application/problem+json';

/** Answers with a problem, unless headers are out already: then only the connection can tell. */
export function answerFault(request: IncomingMessage, response: ServerResponse, fault: Fault, isClosing = false): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const headers = ['content-type', PROBLEM_JSON, 'cache-control', 'no-store'];
  answer(request, response, fault.status, headers, fault.body, isClosing);
}

/** Answers instead of the upstream. The body of the request, if there is one, was not forwarded and is not kept. */
export function answer(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: string[],
  body: string,
  isClosing: boolean,
): void {
  const isUnread = !request.complete && hasBody(request);
  headers.push('content-length', String(Buffer.byteLength(body)));
  if (isClosing || (isUnread && !isDrainable(request))) headers.push('connection', 'close');
  response.writeHead(status, headers);
  if (isUnread) {
    if (request.method !== 'HEAD') response.write(body);
    endAfterBody(request, response);
  } else {
    response.end(request.method === 'HEAD' ? undefined : body);
  }
}

/**
 * Ends a response that came before the request's end. Closing a socket with unread data resets it,
 * and the client may then never see the answer; so the rest is thrown away first, within bounds.
 */
export function endAfterBody(request: IncomingMessage, response: ServerResponse): void {
  // A body in an unknown coding has no end. A client that asks for "100 Continue" may send its body all the same.
  if (request.complete || request.destroyed || !hasKnownCoding(request)) {
    response.end();
    return;
  }
  let bytes = 0;
  const finish = (): void => {
    stopTimer(timer);
    request.off('data', count).off('end', finish).off('close', finish);
    // Without its end the next request on this connection could not be told from the rest of this one.
    response.end(() => void (!request.complete && request.socket.destroySoon()));
  };
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > LINGER_MAX_BYTES) finish();
  };
  const timer = startTimer(LINGER_MS, finish);
  request.on('data', count).on('end', finish).on('close', finish).resume();
}

function isDrainable(request: IncomingMessage): boolean {
  return (
    !waitsForContinue(request) &&
    Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= DRAIN_MAX_BYTES
  );
}
