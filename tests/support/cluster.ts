import { formCluster } from './cluster-form.js';
import { ownsSlot, type SelfView, selfView } from './cluster-view.js';
import { freePort } from './ports.js';
import { type Server, type ServerKind, startServer } from './servers.js';
import { slotOf } from './slots.js';
import { until } from './wait.js';

export { slotOf } from './slots.js';

export interface ClusterOptions {
  readonly kind?: ServerKind;
  readonly primaries?: number;
  /** Replicas in all, spread evenly over the primaries. */
  readonly replicas?: number;
  readonly nodeTimeoutMs?: number;
  readonly args?: readonly string[];
  /** Fixed ports, one per node; free ones by default. */
  readonly ports?: readonly number[];
}

/** A slot on its way, for tests that look between the steps. */
export interface SlotMove {
  readonly from: Server;
  readonly to: Server;
  /** Moves up to `count` keys (all by default) and returns how many. */
  migrateKeys(count?: number): Promise<number>;
  /** Moves what is left and gives the slot to its new node on every primary. */
  finish(): Promise<void>;
}

/** A running cluster. `primaries` and `replicas` are the roles at its start. */
export class Cluster {
  readonly nodes: readonly Server[];
  readonly primaries: readonly Server[];
  readonly replicas: readonly Server[];
  /** Store URL that names the nodes that started as primaries. */
  readonly url: string;

  /** Use {@link startCluster}. */
  constructor(nodes: readonly Server[], primaries: number) {
    this.nodes = nodes;
    this.primaries = nodes.slice(0, primaries);
    this.replicas = nodes.slice(primaries);
    this.url = `redis-cluster://${this.primaries.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
  }

  /** What each node that can answer says of itself now. */
  async views(): Promise<ReadonlyMap<Server, SelfView>> {
    const asked = this.nodes.filter((node) => node.responsive);
    return new Map(await Promise.all(asked.map(async (node) => [node, await selfView(node)] as const)));
  }

  /** The node that serves the slot now; waits for a failover in progress. */
  nodeForSlot(slot: number): Promise<Server> {
    return until(() => this.#ownerOf(slot), { what: `an owner of slot ${slot}`, everyMs: 50 });
  }

  nodeForKey(key: string): Promise<Server> {
    return this.nodeForSlot(slotOf(key));
  }

  /** The node that started as the replica of this one, or the other way round. */
  partnerOf(node: Server): Server {
    const { primaries, replicas } = this;
    const index = primaries.indexOf(node);
    const partner = index < 0 ? primaries[replicas.indexOf(node) % primaries.length] : replicas[index];
    if (partner === undefined) throw new Error(`node ${node.port} has no partner`);
    return partner;
  }

  async beginMove(slot: number, to: Server): Promise<SlotMove> {
    const from = await this.nodeForSlot(slot);
    const [source, target] = await Promise.all([selfView(from), selfView(to)]);
    await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source.id);
    await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target.id);
    const migrateKeys = (count = Number.MAX_SAFE_INTEGER): Promise<number> => migrate(from, to, slot, count);
    const finish = async (): Promise<void> => {
      await migrateKeys();
      // The new owner hears it first: the other way round nobody would own the slot for a moment.
      const others = [...(await this.views())].filter(([node, view]) => view.role === 'primary' && node !== to);
      await to.command('CLUSTER', 'SETSLOT', slot, 'NODE', target.id);
      for (const [node] of others) await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', target.id);
    };
    return { from, to, migrateKeys, finish };
  }

  /** Moves a slot and its keys to another primary, in the steps that an operator's tool takes. */
  async moveSlot(slot: number, to: Server): Promise<void> {
    await (await this.beginMove(slot, to)).finish();
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Two nodes may both claim a slot for a while after a failover: the later election counts. */
  async #ownerOf(slot: number): Promise<Server | undefined> {
    const owners = [...(await this.views())].filter(([, view]) => ownsSlot(view, slot));
    return owners.sort(([, a], [, b]) => b.epoch - a.epoch)[0]?.[0];
  }
}

async function migrate(from: Server, to: Server, slot: number, count: number): Promise<number> {
  let moved = 0;
  while (moved < count) {
    const keys = (await from.buffers('CLUSTER', 'GETKEYSINSLOT', slot, Math.min(100, count - moved))) as Buffer[];
    if (keys.length === 0) break;
    await from.command('MIGRATE', '127.0.0.1', to.port, '', 0, 5000, 'KEYS', ...keys);
    moved += keys.length;
  }
  return moved;
}

/** A cluster of real servers: every slot served, replicas attached and in step. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { primaries = 3, replicas = 3, nodeTimeoutMs = 2000, kind, ports, args = [] } = options;
  const started = await Promise.allSettled(
    Array.from({ length: primaries + replicas }, async (_, index) => {
      const port = ports?.[index];
      const busPort = port === undefined ? await freePort() : port + 10_000;
      const all = [...clusterArgs(nodeTimeoutMs, busPort), ...args];
      return startServer({ args: all, ...(kind && { kind }), ...(port && { port }) });
    }),
  );
  const nodes = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const cluster = new Cluster(nodes, primaries);
  try {
    const failed = started.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    await formCluster(cluster.primaries, cluster.replicas);
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

function clusterArgs(nodeTimeoutMs: number, busPort: number): string[] {
  const settings = {
    'cluster-enabled': 'yes',
    'cluster-port': busPort,
    'cluster-node-timeout': nodeTimeoutMs,
    'cluster-require-full-coverage': 'no',
    // Replicas stay where tests put them, and stand for election however long they were cut off.
    'cluster-allow-replica-migration': 'no',
    'cluster-replica-validity-factor': 0,
    'repl-diskless-sync-delay': 0,
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
}
