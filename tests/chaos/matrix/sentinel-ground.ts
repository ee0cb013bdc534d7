import { Connection } from '../../support/connection.js';
import { type FaultProxy, startProxy } from '../../support/proxy.js';
import { startReplica, startSentinels } from '../../support/sentinels.js';
import { type Server, type ServerKind, startServer } from '../../support/servers.js';
import { until } from '../../support/wait.js';
import { empty, type Ground, PRIMARY_NAME } from './ground.js';

/** A primary, its replica and three Sentinels. */
export async function sentinelGround(kind: ServerKind): Promise<Ground> {
  const first = await startServer({ kind });
  const second = await startReplica(first);
  const proxies = new Map<Server, FaultProxy>();
  for (const server of [first, second]) proxies.set(server, await startProxy(server));
  const sentinels = await startSentinels(kind, first, PRIMARY_NAME);
  const natMap: Record<string, string> = {};
  for (const [server, proxy] of proxies) natMap[`127.0.0.1:${server.port}`] = `127.0.0.1:${proxy.port}`;
  let target = first;

  const atSentinel = async (port: number, ...command: string[]): Promise<unknown> => {
    const connection = await Connection.open(port);
    return connection.command('SENTINEL', ...command).finally(() => connection.close());
  };
  const named = async (port: number): Promise<number> =>
    Number(((await atSentinel(port, 'GET-MASTER-ADDR-BY-NAME', PRIMARY_NAME)) as string[])[1]);
  const other = (): Server => (target === first ? second : first);

  const mend = async (): Promise<void> => {
    for (const server of [first, second]) if (!server.running) await server.start();
    await sentinels.settled();
    target = (await named(sentinels.ports[0] ?? 0)) === first.port ? first : second;
    // The Sentinels say the same, but to a primary that was lost only after ten seconds.
    await other().command('REPLICAOF', '127.0.0.1', target.port);
    const isInStep = async () => String(await other().command('INFO', 'replication')).includes('master_link_status:up');
    await until(isInStep, { what: 'a replica in step', timeoutMs: 30_000 });
  };
  return {
    place: { topology: 'sentinel', ports: sentinels.ports, natMap },
    get target() {
      return target;
    },
    get proxy() {
      return proxies.get(target) as FaultProxy;
    },
    proxyOf: (server) => proxies.get(server) as FaultProxy,
    proxies: [...proxies.values()],
    slots: [],
    prepare: async (awaitsFailover) => {
      await mend();
      const downAfterMs = awaitsFailover ? '500' : '60000';
      for (const port of sentinels.ports) {
        await atSentinel(port, 'SET', PRIMARY_NAME, 'down-after-milliseconds', downAfterMs);
      }
      await empty([target]);
      for (const proxy of proxies.values()) proxy.forget();
    },
    promoted: async () => {
      const isNamed = async () => {
        const ports = await Promise.all(sentinels.ports.map(named));
        return ports.some((port) => port !== target.port);
      };
      await until(isNamed, { what: 'a Sentinel that names the replica', everyMs: 5 });
    },
    demote: () => atSentinel(sentinels.ports[0] ?? 0, 'FAILOVER', PRIMARY_NAME),
    primaries: async () => {
      const roles = await Promise.all(
        [first, second].map(async (server) => {
          return server.responsive && ((await server.command('ROLE')) as string[])[0] === 'master';
        }),
      );
      return [first, second].filter((_, i) => roles[i]);
    },
    moveSlots: async () => {
      throw new Error('only a cluster has slots');
    },
    close: async () => {
      sentinels.stop();
      for (const proxy of proxies.values()) await proxy.close();
      await Promise.all([first.stop(), second.stop()]);
    },
  };
}
