import type { Clock } from '../core/time.js';
import { checkCluster, primariesOf } from '../redis/check-cluster.js';
import { checkRights } from '../redis/check-rights.js';
import { askInfo, checkServer, isMisplaced } from '../redis/check-server.js';
import { checkClock, checkSpeed, withinMs } from '../redis/check-speed.js';
import type { RedisNode } from '../redis/client.js';
import { fixFor, isLasting, messageOf } from '../redis/explain.js';
import { type Finding, failure, mergeFindings, warning } from '../redis/finding.js';
import { checkScripts, PROBE_LIMITS, probeKey } from './probe.js';
import { partsOf, type RedisParts } from './redis-parts.js';
import type { Store } from './store.js';

export interface SelfTestOptions {
  /** The time limit of decisions, in ms, that round trips are judged by; 50 by default. */
  readonly timeoutMs?: number;
  /** How long to wait for connections, in ms; 2000 by default. */
  readonly connectMs?: number;
}

const ANSWER_MS = 2000;
const POLL_MS = 20;

/**
 * Looks for everything that keeps a Redis store from deciding: connection, version, role, eviction,
 * rights, scripts, speed, and the state of a cluster. Changes nothing but keys of its own, which it removes.
 */
export async function selfTest(store: Store, options: SelfTestOptions = {}): Promise<readonly Finding[]> {
  const { timeoutMs = 50, connectMs = 2000 } = options;
  const parts = partsOf(store);
  const nodes = await connect(parts, connectMs);
  const ready = nodes.filter((node) => node.isReady());
  const lost = nodes.filter((node) => !ready.includes(node)).map((node) => node.address);
  const findings: Finding[] = parts.client.warnings.map((text) => warning('client', text, 'see docs/redis.md'));
  if (lost.length > 0 || ready.length === 0) findings.push(notConnected(parts, lost));
  const copied = new Set<string>();
  const context: Context = { store, parts, timeoutMs, onReplica: (address) => copied.add(address) };
  const byNode = await Promise.all(ready.map(async (node) => [node.address, await checkNode(context, node)] as const));
  if (byNode.length > 0) findings.push(...mergeFindings(new Map(byNode)));
  const [first] = ready;
  if (parts.client.isCluster && first !== undefined) {
    findings.push(...(await unlessSilent(parts.clock, 'slots', checkCluster(first, copied))));
  }
  return findings;
}

/** Waits until every primary is connected, time is up, or a failure is there that time does not mend. */
async function connect({ client, clock }: RedisParts, connectMs: number): Promise<RedisNode[]> {
  const endUs = clock.nowUs() + connectMs * 1000;
  for (;;) {
    const nodes = primariesOf(client);
    // Asking is what connects, so every one is asked.
    const isReady = nodes.map((node) => node.isReady()).every(Boolean) && nodes.length > 0;
    if (isReady || isLasting(client.lastError()) || clock.nowUs() > endUs) return nodes;
    await new Promise<void>((resolve) => void clock.startTimer(POLL_MS, resolve));
  }
}

function notConnected({ client }: RedisParts, lost: readonly string[]): Finding {
  const why = client.lastError() ?? 'no answer';
  const where = client.isCluster && lost.length > 0 ? ` to ${lost.join(', ')}` : '';
  return failure('connection', `no connection${where}: ${why}`, fixFor(why));
}

interface Context {
  readonly store: Store;
  readonly parts: RedisParts;
  readonly timeoutMs: number;
  /** Told of each primary that has a replica. */
  readonly onReplica: (address: string) => void;
}

async function checkNode(context: Context, node: RedisNode): Promise<Finding[]> {
  const { clock } = context.parts;
  const speed = await checkSpeed(node, clock, context.timeoutMs);
  if (speed.message.includes('no answer')) return [speed];
  const findings = await unlessSilent(clock, 'server', checkWork(context, node));
  return isMisplaced(findings) ? findings : [...findings, speed, await checkClock(node, clock)];
}

/** Whether the server is one for decisions, and whether it makes them. */
async function checkWork({ store, parts, onReplica }: Context, node: RedisNode): Promise<Finding[]> {
  const info = await askInfo(node);
  if (Number(info.fields.get('connected_slaves')) > 0) onReplica(node.address);
  const findings = checkServer(info, parts.client.isCluster);
  if (isMisplaced(findings)) return findings;
  const key = probeKey(store, parts, node);
  const rights = key === undefined ? [] : await checkRights(node, key, PROBE_LIMITS);
  return [...findings, ...rights, ...(await checkScripts(store, parts, node))];
}

/** The findings, or the one that the server has stopped to answer. */
function unlessSilent(clock: Clock, check: string, findings: Promise<Finding[]>): Promise<Finding[]> {
  return withinMs(clock, ANSWER_MS, findings).catch((error: unknown) => {
    const message = messageOf(error);
    return [failure(check, message, fixFor(message))];
  });
}
