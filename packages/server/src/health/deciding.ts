import { fixedWindow, type PolicyStore, type Store } from 'comporta';
import { monotonicMs, within } from '../time.js';

/** Whether a store decides: one that is full, read-only or short of rights answers a ping all the same. */
export interface Deciding {
  /** Why no server decides. */
  readonly fault?: string;
  /** Why some do not. */
  readonly partFault?: string;
}

/** Whoever asks more often hears the last answer: asking writes. */
const FRESH_MS = 500;
const LIMIT_MS = 500;
/** Names that are tried to meet every server of a cluster. */
const NAMES_MAX = 64;

interface Probe {
  readonly policy: PolicyStore;
  askedAtMs: number;
  answer: Promise<Deciding>;
}

const probes: WeakMap<Store, Probe> = new WeakMap();

/** Makes a decision that concerns nobody at every server. */
export function isDeciding(store: Store): Promise<Deciding> {
  const nowMs = monotonicMs();
  const known = probes.get(store);
  if (known !== undefined && nowMs - known.askedAtMs < FRESH_MS) return known.answer;
  const policy = known?.policy ?? bind(store);
  const answer = ask(policy);
  probes.set(store, { policy, askedAtMs: nowMs, answer });
  return answer;
}

const bind = (store: Store): PolicyStore => {
  const limit = { ...fixedWindow({ limit: 1_000_000, window: '1s' }), id: 'ready' };
  return store.bind({ policy: 'readiness', limits: [limit], isUncounted: true });
};

async function ask(policy: PolicyStore): Promise<Deciding> {
  const byServer = new Map<string, string>();
  for (let i = 0; i < NAMES_MAX; i++) {
    const subject = `readiness-${i}`;
    const server = policy.shardOf?.(subject) ?? '';
    if (!byServer.has(server)) byServer.set(server, subject);
  }
  const faults = await Promise.all([...byServer.values()].map((subject) => faultOf(policy, subject)));
  const found = faults.filter((fault) => fault !== undefined);
  const [first] = found;
  if (first === undefined) return {};
  return found.length === faults.length ? { fault: first } : { partFault: first };
}

async function faultOf(policy: PolicyStore, subject: string): Promise<string | undefined> {
  const decide = async (): Promise<void> => void (await policy.consume(subject, 1));
  try {
    await within(LIMIT_MS, decide(), `no decision within ${LIMIT_MS} ms`);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
