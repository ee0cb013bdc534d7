import { startCluster } from '../../support/cluster.js';
import { selfView } from '../../support/cluster-view.js';
import { type FaultProxy, startProxy } from '../../support/proxy.js';
import type { Server, ServerKind } from '../../support/servers.js';
import { sleep, until } from '../../support/wait.js';
import { empty, type Ground, type SlotRange } from './ground.js';

type Shard = readonly [number, number, readonly [string, number, ...unknown[]], ...unknown[]];

/** Long enough for a pause of one node to pass without a failover. */
const NODE_TIMEOUT_MS = 1200;

/** Three primaries and three replicas. */
export async function clusterGround(kind: ServerKind): Promise<Ground> {
  const cluster = await startCluster({ kind, nodeTimeoutMs: NODE_TIMEOUT_MS });
  const proxies = new Map<Server, FaultProxy>();
  for (const node of cluster.nodes) proxies.set(node, await startProxy(node));
  const natMap: Record<string, string> = {};
  for (const [node, proxy] of proxies) natMap[`127.0.0.1:${node.port}`] = `127.0.0.1:${proxy.port}`;
  let target = cluster.primaries[0] as Server;
  let slots: readonly SlotRange[] = [];

  const rolesOf = async (role: string): Promise<Server[]> =>
    [...(await cluster.views())].filter(([, view]) => view.role === role).map(([node]) => node);
  const shardsBy = async (node: Server) => (await node.command('CLUSTER', 'SLOTS')) as unknown as Shard[];

  const mend = async (): Promise<void> => {
    for (const node of cluster.nodes) if (!node.running) await node.start();
    const isWhole = async () => (await rolesOf('replica')).length === 3 && (await rolesOf('primary')).length === 3;
    await until(isWhole, { what: 'three primaries and three replicas', timeoutMs: 30_000 });
    const replicas = await rolesOf('replica');
    const isInStep = async (node: Server) =>
      String(await node.command('INFO', 'replication')).includes('master_link_status:up');
    for (const node of replicas) await until(() => isInStep(node), { what: 'a replica in step', timeoutMs: 30_000 });
    for (const node of cluster.nodes) {
      const isFine = async () => !String(await node.command('CLUSTER', 'NODES')).includes('fail');
      await until(isFine, { what: 'a cluster without failures', timeoutMs: 30_000 });
    }
  };
  const choose = async (): Promise<void> => {
    target = (await rolesOf('primary'))[0] as Server;
    slots = (await selfView(target)).ranges;
  };
  await choose();
  return {
    place: {
      topology: 'cluster',
      ports: cluster.primaries.map((node) => proxies.get(node)?.port ?? 0),
      natMap,
    },
    get target() {
      return target;
    },
    get proxy() {
      return proxies.get(target) as FaultProxy;
    },
    proxyOf: (server) => proxies.get(server) as FaultProxy,
    proxies: [...proxies.values()],
    get slots() {
      return slots;
    },
    prepare: async () => {
      await mend();
      await choose();
      await empty(await rolesOf('primary'));
      for (const proxy of proxies.values()) proxy.forget();
    },
    promoted: async () => {
      const witness = (await rolesOf('primary')).find((node) => node !== target) as Server;
      const isNamed = async () => !(await shardsBy(witness)).some(([, , [, port]]) => port === target.port);
      await until(isNamed, { what: 'a promotion', everyMs: 5 });
    },
    demote: () => cluster.partnerOf(target).command('CLUSTER', 'FAILOVER'),
    primaries: () => rolesOf('primary'),
    moveSlots: async ([from, to]) => {
      const receiver = (await rolesOf('primary')).find((node) => node !== target) as Server;
      for (let slot = from; slot <= to; slot++) {
        const move = await cluster.beginMove(slot, receiver);
        await move.migrateKeys(2);
        await sleep(4);
        await move.finish();
      }
    },
    close: async () => {
      for (const proxy of proxies.values()) await proxy.close();
      await cluster.stop();
    },
  };
}
