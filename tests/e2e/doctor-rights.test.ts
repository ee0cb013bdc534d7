import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { redisStore, type SupportedClient, selfTest } from 'comporta/redis';
import { Cluster as IoredisCluster, Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { limitKinds } from '../../packages/comporta/src/algorithms/limits.js';
import { scriptCommands } from '../../packages/comporta/src/redis/check-rights.js';
import { ioredisClusterPreset, ioredisPreset } from '../../packages/comporta/src/redis/ioredis-presets.js';
import { PROBE_LIMITS } from '../../packages/comporta/src/stores/probe.js';
import { type Cluster, startCluster } from '../support/cluster.js';
import { installedKinds, type Server, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';
import { root } from './cli-support.js';

const docs = readFileSync(join(root, 'docs/redis.md'), 'utf8');
const rightsAfter = (pattern: RegExp): string[] => (pattern.exec(docs)?.[1] ?? '').split(' ');

/** The template as the documentation prints it. */
const SINGLE = rightsAfter(/^ACL SETUSER comporta (.*)$/m);
const CLUSTER = rightsAfter(/^- a Cluster: `([^`]+)`/m);
const IOREDIS = rightsAfter(/^- ioredis and iovalkey: `([^`]+)`/m);

const login = { username: 'comporta', password: 'PASSWORD' };
const allow = (server: Server, rules: readonly string[]) => server.command('ACL', 'SETUSER', 'comporta', ...rules);

async function levelsOf(source: string | SupportedClient): Promise<ReadonlyMap<string, string>> {
  const store = redisStore(source);
  const findings = await selfTest(store, { timeoutMs: 60_000 });
  await store.close();
  return new Map(findings.map(({ check, level, message }) => [check, level === 'ok' ? 'ok' : `${level}: ${message}`]));
}

/** Nodes list a replica once they have heard of some progress of it, so there must be some. */
async function replicasListed({ primaries }: Cluster): Promise<void> {
  for (const node of primaries) {
    for (const key of 'abcdefghij') await node.command('SET', key, '1').catch(() => undefined);
  }
  const isListed = async (node: Server) => {
    const ranges = (await node.command('CLUSTER', 'SLOTS')) as unknown[][];
    return ranges.every((range) => range.length > 3);
  };
  for (const node of primaries) await until(() => isListed(node), { what: 'replicas in the map of slots' });
}

test('the documented rights are those of the scripts, and what runs them', () => {
  expect(PROBE_LIMITS.map(({ algorithm }) => algorithm.name).sort()).toEqual(Object.keys(limitKinds).sort());
  const expected = ['ping', 'eval', 'evalsha', ...scriptCommands(PROBE_LIMITS)].map((name) => `+${name}`);
  expect(SINGLE.slice(0, 4)).toEqual(['on', '>PASSWORD', '~cmp1:*', '-@all']);
  expect(SINGLE.slice(4)).toEqual(expected);
});

describe.each(installedKinds())('the documented user of %s', (kind) => {
  test('works on one server, by URL and by ioredis', async () => {
    await using server = await startServer({ kind });
    await allow(server, SINGLE);
    const byUrl = await levelsOf(`redis://comporta:PASSWORD@127.0.0.1:${server.port}`);
    expect([...byUrl.values()].filter((level) => level !== 'ok')).toEqual([expect.stringContaining('lacks +info')]);
    await allow(server, IOREDIS);
    const client = new Redis({ port: server.port, ...login, ...ioredisPreset });
    expect([...(await levelsOf(client)).values()].filter((level) => level !== 'ok')).toEqual([]);
    client.disconnect();
    expect(await server.command('KEYS', '*self-test*')).toEqual([]);
  });

  test('works on a cluster, by URL and by ioredis', async () => {
    await using cluster = await startCluster({ kind });
    for (const node of cluster.nodes) await allow(node, [...SINGLE, ...CLUSTER]);
    await replicasListed(cluster);
    const byUrl = await levelsOf(cluster.url.replace('//', '//comporta:PASSWORD@'));
    const unknown = [expect.stringContaining('lacks +info'), expect.stringContaining('lacks +config|get')];
    expect([...byUrl.values()].filter((level) => level !== 'ok')).toEqual(unknown);
    for (const node of cluster.nodes) await allow(node, IOREDIS);
    const nodes = cluster.primaries.map(({ port }) => ({ host: '127.0.0.1', port }));
    const redisOptions = { ...ioredisClusterPreset.redisOptions, ...login };
    const client = new IoredisCluster(nodes, { ...ioredisClusterPreset, redisOptions });
    client.on('error', () => undefined);
    const found = [...(await levelsOf(client)).values()].filter((level) => level !== 'ok');
    expect(found).toEqual([expect.stringContaining('lacks +config|get')]);
    client.disconnect();
  });

  test('without any one right of the scripts the self-test names just that', async () => {
    await using server = await startServer({ kind });
    for (const right of SINGLE.slice(5)) {
      const name = right.slice(1);
      await allow(server, [...SINGLE, `-${name}`]);
      const levels = await levelsOf(`redis://comporta:PASSWORD@127.0.0.1:${server.port}`);
      const said = name === 'evalsha' ? levels.get('scripts') : levels.get('rights');
      expect(said, name).toMatch(name === 'evalsha' ? /evalsha/ : new RegExp(`lacks \\+${name}$`));
    }
  });
});
