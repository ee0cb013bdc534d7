import { ioredisClusterPreset, redisStore, type SupportedClient } from 'comporta/redis';
import * as ioredis6 from 'ioredis';
import * as ioredis5 from 'ioredis5';
import * as iovalkey from 'iovalkey';
import * as redis6 from 'redis';
import * as redis5 from 'redis5';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/cluster.js';
import { type Server, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';
import { type Endable, glide, type Make, mine, places, ready, redis4 } from './odd-clients.js';

let server: Server;
let cluster: Cluster;
beforeAll(async () => {
  [server, cluster] = await Promise.all([startServer(), startCluster({ replicas: 0 })]);
});
afterAll(() => Promise.all([server?.stop(), cluster?.stop()]));

const at = () => ({ host: server.host, port: server.port });
const nodes = () => cluster.primaries.map(({ host, port }) => ({ host, port }));
const rootNodes = () => cluster.primaries.map(({ url }) => ({ url }));

const refused: Readonly<Record<string, readonly [Make, RegExp]>> = {
  'a client of node-redis 4': [() => redis4().createClient({ url: server.url }), /use version 5 or later/],
  'a client of node-redis 4 in legacy mode': [() => redis4().createClient({ legacyMode: true }), /version 5/],
  'a cluster client of node-redis 4': [() => redis4().createCluster({ rootNodes: rootNodes() }), /version 5/],
  'the legacy form of a client of node-redis 6': [() => redis6.createClient().legacy(), /legacy mode/],
  'the legacy form of a client of node-redis 5': [() => redis5.createClient().legacy(), /legacy mode/],
  'a transaction of node-redis': [() => redis6.createClient().multi(), /pass the client that it is of/],
  'a pipeline of ioredis': [() => mine(new ioredis6.Redis(at())).pipeline(), /pass the client that it is of/],
  'a transaction of ioredis': [() => mine(new ioredis6.Redis(at())).multi(), /pass the client that it is of/],
  'a pipeline of ioredis 5': [() => mine(new ioredis5.Redis(at())).pipeline(), /pass the client that it is of/],
  'a batch of GLIDE': [() => new (glide().Batch)(false), /pass the client that it is of/],
  'a promise of a client': [
    async () => ({
      made: glide()
        .GlideClient.createClient(places([at()]))
        .then((client) => mine(client)),
    }),
    /await it first/,
  ],
  'ioredis with a keyPrefix': [() => mine(new ioredis6.Redis({ ...at(), keyPrefix: 'app:' })), /renames keys/],
  'iovalkey with a keyPrefix': [() => mine(new iovalkey.Redis({ ...at(), keyPrefix: 'app:' })), /renames keys/],
  'an ioredis Cluster with a keyPrefix, which could name another slot': [
    () => mine(new ioredis6.Cluster(nodes(), { ...ioredisClusterPreset, keyPrefix: '{x}' })),
    /renames keys/,
  ],
  'an ioredis Cluster with a keyPrefix of its connections': [
    () => mine(new ioredis6.Cluster(nodes(), { redisOptions: { keyPrefix: 'app:' } })),
    /renames keys/,
  ],
  'a closed ioredis client': [
    async () => {
      const client = new ioredis6.Redis(at());
      await ready(client);
      client.disconnect();
      await until(() => client.status === 'end');
      return client;
    },
    /is closed/,
  ],
  'a closed ioredis Cluster': [
    async () => {
      const client = mine(new ioredis6.Cluster(nodes(), ioredisClusterPreset));
      await until(() => client.status === 'ready');
      client.disconnect();
      return client;
    },
    /is closed/,
  ],
  'a closed client of GLIDE': [
    async () => {
      const client = (await glide().GlideClient.createClient(places([at()]))) as Endable;
      client.close?.();
      return client;
    },
    /is closed/,
  ],
  'ioredis 5 that subscribes': [
    async () => {
      const client = new ioredis5.Redis(at());
      await ready(client);
      await client.subscribe('news');
      return client;
    },
    /subscriber mode.*duplicate/,
  ],
  'ioredis that monitors': [async () => mine(await mine(new ioredis6.Redis(at())).monitor()), /monitor mode/],
};

test.each(Object.entries(refused))('%s is refused when the store is made', async (_, [make, fix]) => {
  const made = await make();
  const client = ('made' in made ? made.made : made) as SupportedClient;
  expect(() => redisStore(client)).toThrow(expect.objectContaining({ code: 'ERR_CLIENT' }));
  expect(() => redisStore(client)).toThrow(fix);
});
