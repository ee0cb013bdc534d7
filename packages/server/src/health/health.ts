import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Store } from 'comporta';
import { within } from '../time.js';

/** What `/readyz` answers. */
export interface Readiness {
  readonly status: 'pass' | 'warn' | 'fail';
  readonly reason?: string;
}

export interface HealthOptions {
  readonly store: Store;
  readonly isDraining: () => boolean;
  /** Some policy refuses while the store is down: then this process is of no use without it. */
  readonly needsStore: () => boolean;
}

const PING_LIMIT_MS = 500;
const ALL_NODES_LIMIT_MS = 200;

/** Ready unless draining, or unless the whole store is down and a policy refuses without it. */
export async function readiness({ store, isDraining, needsStore }: HealthOptions): Promise<Readiness> {
  if (isDraining()) return { status: 'fail', reason: 'draining' };
  const fault = await faultOf(within(PING_LIMIT_MS, store.ping(), `no answer within ${PING_LIMIT_MS} ms`));
  if (fault !== undefined) return { status: needsStore() ? 'fail' : 'warn', reason: `store: ${fault}` };
  // Part of a cluster is away: all processes miss the same part, so there is no better one to send requests to.
  const missing = await faultOf(store.ready(ALL_NODES_LIMIT_MS));
  return missing === undefined ? { status: 'pass' } : { status: 'warn', reason: `store: ${missing}` };
}

async function faultOf(work: Promise<void>): Promise<string | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** `/livez` says that the process answers; `/readyz` whether it should get requests. */
export function createHealthServer(options: HealthOptions): Server {
  return createServer((request, response) => {
    const path = request.url?.split('?', 1)[0];
    request.resume();
    if (request.method !== 'GET' && request.method !== 'HEAD')
      send(response, 405, { status: 'fail', reason: 'GET or HEAD only' });
    else if (path === '/livez') send(response, 200, { status: 'pass' });
    else if (path === '/readyz')
      void readiness(options).then((state) => send(response, state.status === 'fail' ? 503 : 200, state));
    else send(response, 404, { status: 'fail', reason: 'known here: /livez, /readyz' });
  });
}

function send(response: ServerResponse, status: number, body: Readiness): void {
  const text = `${JSON.stringify(body)}\n`;
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(text),
  };
  response.writeHead(status, headers).end(text);
}
