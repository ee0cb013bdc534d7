import { Redis } from 'ioredis';
import { freePort, startRedis } from './redis.mjs';

const SLOTS = 16_384;

/** A cluster of so many masters without replicas. `clients` are connections to each, for looking into them. */
export async function startCluster(masters = 3) {
  const busPorts = [];
  const servers = [];
  for (let i = 0; i < masters; i++) {
    busPorts.push(await freePort());
    servers.push(await startRedis(['--cluster-enabled', 'yes', '--cluster-port', String(busPorts[i])]));
  }
  const clients = servers.map(({ port }) => new Redis({ port, host: '127.0.0.1' }));
  for (const [i, client] of clients.entries()) {
    const [from, to] = [i, i + 1].map((edge) => Math.floor((SLOTS * edge) / masters));
    await client.cluster('SET-CONFIG-EPOCH', i + 1);
    await client.cluster('ADDSLOTSRANGE', from, to - 1);
    if (i > 0) await clients[0].cluster('MEET', '127.0.0.1', servers[i].port, busPorts[i]);
  }
  const isFormed = async (client) => {
    const info = await client.cluster('INFO');
    return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${masters}`);
  };
  for (const client of clients) {
    while (!(await isFormed(client))) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    clients,
    url: `redis-cluster://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    stop: async () => {
      for (const client of clients) client.disconnect();
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}
