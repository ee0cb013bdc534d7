import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as comportaRedis from 'comporta/redis';
import { redisStore, type SupportedClient } from 'comporta/redis';
import { Redis as Ioredis, Cluster as IoredisCluster } from 'ioredis';
import { Redis as Ioredis5, Cluster as Ioredis5Cluster } from 'ioredis5';
import { Redis as Iovalkey, Cluster as IovalkeyCluster } from 'iovalkey';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import {
  createClient as createClient5,
  createClientPool as createClientPool5,
  createCluster as createCluster5,
  createSentinel as createSentinel5,
} from 'redis5';
import { expect, test } from 'vitest';
import { root, run, tool } from '../package/packed.js';
import { clients } from './clients.js';

const lazy = { lazyConnect: true } as const;
const nodes = [{ host: '127.0.0.1', port: 1 }];
const rootNodes = [{ url: 'redis://127.0.0.1:1' }];

/** Without casts: that this compiles is what users of these packages rely on. */
const made: Readonly<Record<string, SupportedClient>> = {
  'ioredis 6': new Ioredis(lazy),
  'ioredis 6 Cluster': new IoredisCluster(nodes, lazy),
  'ioredis 5': new Ioredis5(lazy),
  'ioredis 5 Cluster': new Ioredis5Cluster(nodes, lazy),
  iovalkey: new Iovalkey(lazy),
  'iovalkey Cluster': new IovalkeyCluster(nodes, lazy),
  'node-redis 6': createClient(),
  'node-redis 6 with RESP2': createClient({ RESP: 2 }),
  'node-redis 6 cluster': createCluster({ rootNodes }),
  'node-redis 5': createClient5(),
  'node-redis 5 with RESP3': createClient5({ RESP: 3 }),
  'node-redis 5 cluster': createCluster5({ rootNodes }),
};

test.each(Object.entries(made))('%s is taken as it is, with its own types', (_, client) => {
  expect(redisStore(client, { onWarning: () => undefined }).kind).toBe('redis');
});

const sentinelOptions = { name: 'primary', sentinelRootNodes: nodes };
const refused: readonly (readonly [string, object, RegExp])[] = [
  ['a Sentinel object of node-redis 6', createSentinel(sentinelOptions), /redis-sentinel:\/\/host/],
  ['a Sentinel object of node-redis 5', createSentinel5(sentinelOptions), /redis-sentinel:\/\/host/],
  ['a pool of node-redis 6', createClientPool(), /use createClient/],
  ['a pool of node-redis 5', createClientPool5(), /use createClient/],
  ['anything else', {}, /expected a store URL or a client/],
];

test.each(refused)('%s is refused, with what to use in its place', (_, client, fix) => {
  expect(() => redisStore(client as SupportedClient)).toThrow(expect.objectContaining({ code: 'ERR_CLIENT' }));
  expect(() => redisStore(client as SupportedClient)).toThrow(fix);
});

test('clients of GLIDE and of Bun are taken as they are, with their own types', async () => {
  const { ok, output } = await run(root, tool('tsc'), '-p', 'tests/clients');
  expect(ok, `${output}\nwithout these packages: node scripts/install-runtimes.mjs`).toBe(true);
}, 60_000);

test('the page on Redis names every preset, and every client that the suites run on', () => {
  const page = readFileSync(join(root, 'docs/redis.md'), 'utf8');
  const presets = Object.keys(comportaRedis).filter((name) => name.endsWith('Preset'));
  expect(presets.length).toBeGreaterThan(5);
  const names = clients.map(({ name }) => name.replace(/ \d.*| with .*/, ''));
  for (const name of [...presets, ...names]) expect(page).toContain(name);
});
