import type { RedisClient, RedisNode } from './client.js';
import { lacksRight, messageOf } from './explain.js';
import { cannotTell, type Finding, failure, ok, warning } from './finding.js';
import { SLOTS } from './slot.js';

/** The servers that the client would send decisions to, each once. */
export function primariesOf(client: RedisClient): RedisNode[] {
  const nodes = new Map<string, RedisNode>();
  const count = client.isCluster ? SLOTS : 1;
  for (let slot = 0; slot < count; slot++) {
    const node = client.nodeOf(slot);
    if (node !== undefined) nodes.set(node.address, node);
  }
  return [...nodes.values()];
}

type Range = readonly [from: number, to: number, primary: unknown, ...replicas: unknown[]];

/** The map of slots as one node tells it. `copied` are primaries that say themselves that they have a replica. */
export async function checkCluster(node: RedisNode, copied: ReadonlySet<string>): Promise<Finding[]> {
  let ranges: readonly Range[];
  try {
    ranges = (await node.send(['CLUSTER', 'SLOTS'])) as readonly Range[];
  } catch (error) {
    if (lacksRight(error)) return [cannotTell('slots', 'which slots are served', '+cluster|slots')];
    return [failure('slots', messageOf(error), 'CLUSTER SLOTS must work for a client to find its nodes')];
  }
  return [checkSlots(ranges), checkReplicas(ranges, copied), await checkCoverage(node)];
}

function checkSlots(ranges: readonly Range[]): Finding {
  const served = ranges.reduce((sum, [from, to]) => sum + Number(to) - Number(from) + 1, 0);
  if (served === SLOTS) return ok('slots', `all ${SLOTS} slots have a primary`);
  const message = `${SLOTS - served} of ${SLOTS} slots have no primary: their subjects follow the failure mode`;
  return failure('slots', message, 'give the slots to a node: redis-cli --cluster fix HOST:PORT');
}

/** The map names a replica only once there was something to copy to it. */
function checkReplicas(ranges: readonly Range[], copied: ReadonlySet<string>): Finding {
  const bare = ranges.filter((range) => range.length < 4).map(([, , primary]) => addressOf(primary));
  const alone = bare.filter((address) => !copied.has(address));
  if (alone.length === 0) return ok('replicas', 'every primary has a replica');
  const message = `without a replica: ${[...new Set(alone)].join(', ')}`;
  return warning('replicas', message, 'add one: until a lost primary is back its subjects follow the failure mode');
}

function addressOf(node: unknown): string {
  const [host, port] = Array.isArray(node) ? node : [];
  return `${host}:${port}`;
}

async function checkCoverage(node: RedisNode): Promise<Finding> {
  const name = 'cluster-require-full-coverage';
  try {
    const reply = await node.send(['CONFIG', 'GET', name]);
    const value = JSON.stringify(reply instanceof Map ? [...reply.values()] : reply);
    if (!value.includes('"yes"')) return ok('coverage', `${name} no: a lost shard stops no other`);
    return warning('coverage', `${name} yes: one lost shard stops all others`, `CONFIG SET ${name} no, on every node`);
  } catch (error) {
    if (!lacksRight(error)) return warning('coverage', messageOf(error), `set ${name} no`);
    return cannotTell('coverage', name, '+config|get');
  }
}
