import type { Duplex } from 'node:stream';
import { type Fault, faults } from './problems.js';
import { rawResponse } from './raw.js';

/** Answers what Node's parser refused, on the bare socket: 400, 408 or 431, then the end. */
export function answerBadRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  socket.on('error', () => undefined);
  if (error.code === 'ECONNRESET' || !socket.writable || hasAnswer(socket)) {
    socket.destroy();
    return;
  }
  const { status, body } = faultOf(error.code);
  socket.end(rawResponse(status, ['content-type', 'application/problem+json', 'cache-control', 'no-store'], body), () =>
    socket.destroy(),
  );
}

function faultOf(code: string | undefined): Fault {
  if (code === 'HPE_HEADER_OVERFLOW') return faults.headersTooLarge;
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? faults.slowRequest : faults.badSyntax;
}

/** A response is on its way already, as Node's own handler checks it: more bytes would spoil it. */
function hasAnswer(socket: Duplex): boolean {
  const message: unknown = Reflect.get(socket, '_httpMessage');
  return typeof message === 'object' && message !== null && Reflect.get(message, '_headerSent') === true;
}
