import { afterAll, beforeAll, describe } from 'vitest';
import { type Cluster, startCluster } from '../support/cluster.js';
import { installedKinds } from '../support/servers.js';
import { clients } from './clients.js';
import { describeRedisStore } from './stores.js';

describe.each(installedKinds())('a %s cluster', (kind) => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ kind, replicas: 0 });
  });
  afterAll(() => cluster?.stop());
  // The protocol makes no difference to routing: the clients that differ in it only run on single servers.
  for (const client of clients.filter(({ name }) => !name.includes('RESP2'))) {
    const ports = () => cluster.primaries.map(({ port }) => port);
    describeRedisStore(
      client.name,
      () => client.cluster(ports()),
      () => cluster.primaries,
    );
  }
});
