import type { Outcome } from '../policies/policy.js';
import type { NodeRequest, NodeSocket } from './node-view.js';

/** What is read of a Node response to learn how it ended. */
export interface NodeResponse {
  readonly statusCode: number;
  readonly headersSent: boolean;
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
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
  const end = (): void => {
    const { headersSent, statusCode, writableEnded, writableFinished } = response;
    // HTTP/2 calls a response that was cut finished too, but not ended; one that was cut later ended, but not finished.
    finish({ status: headersSent ? statusCode : 0, aborted: !writableEnded });
  };
  if (response.destroyed) {
    end();
    return;
  }
  response.once('finish', end);
  response.once('close', end);
  // Node forgets responses that wait for their turn on a connection that breaks.
  if (response.socket === null && request.socket) onClose(request.socket, response, end);
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
