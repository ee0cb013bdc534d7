import { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Fault, faults } from './problems.js';
import { rawResponse } from './raw.js';

/** Answers what Node's parser refused, on the bare socket: 400, 408 or 431, then the end. */
export function answerBadRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  socket.on('error', () => undefined);
  const current = answerOf(socket);
  // What follows a request with "Connection: close" is not looked at, and takes nothing from its answer.
  if (error.code === 'HPE_CLOSED_CONNECTION' && current !== undefined) return;
  if (current?.writableEnded === true && error.code !== 'ECONNRESET') {
    (socket as Socket).destroySoon();
    return;
  }
  // More bytes would spoil a response that is on its way already.
  if (error.code === 'ECONNRESET' || !socket.writable || current?.headersSent === true) {
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

/** The response that has the connection now, where Node's own handler finds it too. */
function answerOf(socket: Duplex): ServerResponse | undefined {
  const message: unknown = Reflect.get(socket, '_httpMessage');
  return message instanceof ServerResponse ? message : undefined;
}
