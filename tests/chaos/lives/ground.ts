import { type Cluster, startCluster } from '../../support/cluster.js';
import { Connection } from '../../support/connection.js';
import { type Server, startServer } from '../../support/servers.js';
import { until } from '../../support/wait.js';
import { Gate } from './gate.js';
import type { Place, Topology } from './kinds.js';

export const PASSWORD = 'secret';

/** Servers with a gate before each. */
export class Ground {
  readonly topology: Topology;
  readonly nodes: readonly Server[];
  readonly gates: readonly Gate[];
  readonly #cluster: Cluster | undefined;

  /** Use {@link startGround}. */
  constructor(topology: Topology, nodes: readonly Server[], cluster: Cluster | undefined) {
    this.topology = topology;
    this.nodes = nodes;
    this.gates = nodes.map(({ port }) => new Gate(port));
    this.#cluster = cluster;
  }

  async placeFor(client: number): Promise<Place> {
    const ports = await Promise.all(this.gates.map((gate) => gate.portFor(client)));
    const portOf = Object.fromEntries(this.nodes.map(({ port }, i) => [port, ports[i] ?? 0]));
    return { ports: ports.slice(0, 3), portOf };
  }

  /** Connections of a client to each server. */
  openOf(client: number): number[] {
    return this.gates.map((gate) => gate.openOf(client));
  }

  /** Undoes all that befell it; resolves when every server can serve. */
  async mend(): Promise<void> {
    for (const gate of this.gates) Object.assign(gate, { fate: 'pass', delayMs: 0 });
    for (const node of this.nodes) {
      if (!node.running) await node.start();
      if (!node.responsive) node.thaw();
      await unlock(node);
      await node.command('CONFIG', 'SET', 'maxclients', 10_000);
      await node.command('CONFIG', 'SET', 'key-load-delay', 0);
      if (this.topology === 'single') await node.command('REPLICAOF', 'NO', 'ONE');
    }
    await until(() => this.#isWhole(), { what: 'a whole cluster', timeoutMs: 60_000, everyMs: 50 });
  }

  async close(): Promise<void> {
    for (const gate of this.gates) gate.close();
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  async #isWhole(): Promise<boolean> {
    if (this.#cluster === undefined) return true;
    const views = [...(await this.#cluster.views()).values()];
    if (views.filter(({ role }) => role === 'primary').length !== 3) return false;
    const texts = await Promise.all(this.nodes.map((node) => node.command('CLUSTER', 'NODES')));
    return !texts.some((text) => String(text).includes('fail'));
  }
}

/** Takes the password away, which the connection of the test may not have given. */
export async function unlock(server: Server): Promise<void> {
  const connection = await Connection.open(server.port);
  // Where none is set, giving one is refused.
  await connection.command('AUTH', PASSWORD).catch(() => undefined);
  await connection.command('CONFIG', 'SET', 'requirepass', '').finally(() => connection.close());
}

export async function startGround(topology: Topology): Promise<Ground> {
  if (topology === 'single') return new Ground(topology, [await startServer()], undefined);
  const cluster = await startCluster({ nodeTimeoutMs: 1000 });
  return new Ground(topology, cluster.nodes, cluster);
}
