import { startProxy } from '../../support/proxy.js';
import { type ServerKind, startServer } from '../../support/servers.js';
import { empty, type Ground } from './ground.js';

export async function singleGround(kind: ServerKind): Promise<Ground> {
  const server = await startServer({ kind });
  const proxy = await startProxy(server);
  const impossible = (): never => {
    throw new Error('a single server has nobody to take over');
  };
  return {
    place: { topology: 'single', ports: [proxy.port], natMap: {} },
    target: server,
    proxy,
    proxyOf: () => proxy,
    proxies: [proxy],
    slots: [],
    prepare: async () => {
      await empty([server]);
      proxy.forget();
    },
    promoted: async () => impossible(),
    demote: () => server.command('REPLICAOF', '127.0.0.1', 1),
    primaries: async () => [server],
    moveSlots: async () => impossible(),
    close: async () => {
      await proxy.close();
      await server.stop();
    },
  };
}
