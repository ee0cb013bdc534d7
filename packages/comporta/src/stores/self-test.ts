import type { Clock } from '../core/time.js';
import { checkCluster, primariesOf } from '../redis/check-cluster.js';
import { checkRights } from '../redis/check-rights.js';
import { checkServer, type Info, readInfo } from '../redis/check-server.js';
import { checkClock, checkSpeed, withinMs } from '../redis/check-speed.js';
import type { RedisNode } from '../redis/client.js';
import { fixFor, isLasting, lacksRight, messageOf } from '../redis/explain.js';
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
  const byNode = await Promise.all(
    ready.map(async (node) => [node.address, await checkNode(store, parts, node, timeoutMs)] as const),
  );
  if (byNode.length > 0) findings.push(...mergeFindings(new Map(byNode)));
  const [first] = ready;
  if (parts.client.isCluster && first !== undefined) {
    findings.push(...(await unlessSilent(parts.clock, 'slots', checkCluster(first))));
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

async function checkNode(store: Store, parts: RedisParts, node: RedisNode, timeoutMs: number): Promise<Finding[]> {
  const { client, clock } = parts;
  const work = async (): Promise<Finding[]> => {
    const key = probeKey(store, parts, node);
    return [
      ...checkServer(await infoOf(node), client.isCluster),
      ...(key === undefined ? [] : await checkRights(node, key, PROBE_LIMITS)),
      ...(await checkScripts(store, parts, node)),
    ];
  };
  const speed = await checkSpeed(node, clock, timeoutMs);
  if (speed.message.includes('no answer')) return [speed];
  return [...(await unlessSilent(clock, 'server', work())), speed, await checkClock(node, clock)];
}

async function infoOf(node: RedisNode): Promise<Info> {
  try {
    return readInfo(await node.send(['INFO']));
  } catch (error) {
    if (lacksRight(error)) return undefined;
    throw error;
  }
}

/** The findings, or the one that the server has stopped to answer. */
function unlessSilent(clock: Clock, check: string, findings: Promise<Finding[]>): Promise<Finding[]> {
  return withinMs(clock, ANSWER_MS, findings).catch((error: unknown) => {
    const message = messageOf(error);
    return [failure(check, message, fixFor(message))];
  });
}
