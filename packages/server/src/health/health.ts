import type { Store } from 'comporta';
import { within } from '../time.js';
import { isDeciding } from './deciding.js';

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

/** Ready unless draining, or unless the whole store decides nothing and a policy refuses without it. */
export async function readiness({ store, isDraining, needsStore }: HealthOptions): Promise<Readiness> {
  if (isDraining()) return { status: 'fail', reason: 'draining' };
  const silent = await faultOf(within(PING_LIMIT_MS, store.ping(), `no answer within ${PING_LIMIT_MS} ms`));
  const deciding = silent === undefined ? await isDeciding(store) : { fault: silent };
  const { fault } = deciding;
  if (fault !== undefined) return { status: needsStore() ? 'fail' : 'warn', reason: `store: ${fault}` };
  // Part of a cluster is away: all processes miss the same part, so there is no better one to send requests to.
  const missing = (await faultOf(store.ready(ALL_NODES_LIMIT_MS))) ?? deciding.partFault;
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
