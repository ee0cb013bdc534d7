// Connections as the documentation of each client shows them; `ports` are one server or the primaries of a cluster.
import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';

const host = '127.0.0.1';

/** Clients tell of lost connections by events, and end the process when nobody listens. */
const quiet = (client) => client.on('error', () => {});

/** `preset` is for one connection, `clusterPreset` for a cluster; without them the client's defaults hold. */
export async function ioredis({ ports }, { preset = {}, clusterPreset = {} } = {}) {
  const client =
    ports.length === 1
      ? new Redis({ host, port: ports[0], ...preset })
      : new Cluster(
          ports.map((port) => ({ host, port })),
          clusterPreset,
        );
  quiet(client);
  if (client.status !== 'ready') await new Promise((resolve) => client.once('ready', resolve));
  return client;
}

export async function nodeRedis({ ports }, { preset = {}, clusterPreset = {} } = {}) {
  const urls = ports.map((port) => ({ url: `redis://${host}:${port}` }));
  const client =
    urls.length === 1 ? createClient({ ...urls[0], ...preset }) : createCluster({ rootNodes: urls, ...clusterPreset });
  quiet(client);
  await client.connect();
  return client;
}
