import type { Outcome } from '../policies/policy.js';
import type { NodeRequest, NodeSocket } from './node-view.js';

/** What is read of a Node response to learn how it ended. */
export interface NodeResponse {
  readonly statusCode: number;
  readonly headersSent: boolean;
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  /** Of HTTP/2. */
  readonly stream?: unknown;
  /** `null` while it waits for the responses before it on one connection. */
  readonly socket?: unknown;
  once(name: 'finish' | 'close', listener: () => void): unknown;
}

/** Calls `finish` once a Node response has ended, in whatever way; at once when it has already. */
export function onNodeEnd(
  request: Pick<NodeRequest, 'socket'>,
  response: NodeResponse,
  finish: ((outcome: Outcome) => void) | undefined,
): void {
  if (finish === undefined) return;
  const { socket } = request;
  const end = (isFinished = response.writableFinished): void => {
    const { headersSent, statusCode } = response;
    finish({ status: headersSent ? statusCode : 0, aborted: !(isFinished && isWhole(response, socket)) });
  };
  if (response.destroyed) {
    end();
    return;
  }
  response.once('finish', () => end(true));
  response.once('close', () => end());
  // Node forgets responses that wait for their turn on a connection that breaks.
  if (response.socket === null && socket) onClose(socket, response, () => end(false));
}

/**
 * What Node calls finished may have been cut. HTTP/1: the connection broke before all was written. HTTP/2: it
 * was not ended, or not written. A connection that closes after a whole response does so in a later turn.
 */
function isWhole({ writableEnded, writableFinished, stream }: NodeResponse, socket: NodeRequest['socket']): boolean {
  return stream === undefined ? socket?.destroyed !== true : writableEnded && writableFinished;
}

const waiting: WeakMap<NodeSocket, Set<() => void>> = new WeakMap();

/** One listener per connection, however many responses wait on it. */
function onClose(socket: NodeSocket, response: NodeResponse, run: () => void): void {
  const runs = waiting.get(socket) ?? listen(socket);
  runs.add(run);
  response.once('close', () => runs.delete(run));
}

function listen(socket: NodeSocket): Set<() => void> {
  const runs = new Set<() => void>();
  waiting.set(socket, runs);
  socket.once?.('close', () => {
    for (const run of runs) run();
  });
  return runs;
}
