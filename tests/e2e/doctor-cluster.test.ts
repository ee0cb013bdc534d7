import { type Finding, redisStore, selfTest } from 'comporta/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/cluster.js';
import { installedKinds } from '../support/servers.js';
import { runCommand } from './cli-support.js';

describe.each(installedKinds())('the self-test on a cluster of %s', (kind) => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ kind, replicas: 0 });
  });
  afterAll(() => cluster?.stop());

  const examine = async (url = cluster.url): Promise<readonly Finding[]> => {
    const store = redisStore(url);
    const findings = await selfTest(store);
    await store.close();
    return findings;
  };
  const onAll = async (...command: readonly string[]) => {
    for (const node of cluster.primaries) await node.command(...command);
  };

  test('every primary runs the scripts; missing replicas are a warning', async () => {
    const command = runCommand(['doctor', cluster.url]);
    expect(await command.exit(), command.output()).toBe(0);
    const stats = await Promise.all(cluster.primaries.map((node) => node.command('INFO', 'commandstats')));
    for (const text of stats) expect(String(text)).toMatch(/cmdstat_eval:/);
    expect(command.output()).toMatch(/^ok {7}scripts {5}3 primaries: /m);
    expect(command.output()).toMatch(/^ok {7}slots {7}all 16384 slots/m);
    expect(command.output()).toMatch(/^warning {2}replicas {4}without a replica: 127/m);
    expect(command.output()).toMatch(/^ok {7}coverage/m);
    for (const node of cluster.primaries) expect(await node.command('KEYS', '*self-test*')).toEqual([]);
  });

  test('what one node does differently is said of that node', async () => {
    const [node] = cluster.primaries;
    await node?.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-random');
    const findings = (await examine()).filter(({ check }) => check === 'eviction');
    await node?.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    expect(findings.find(({ level }) => level === 'warning')?.message).toMatch(`127.0.0.1:${node?.port}: maxmemory`);
    expect(findings).toHaveLength(2);
  });

  test('a cluster that one lost shard would stop is a warning', async () => {
    await onAll('CONFIG', 'SET', 'cluster-require-full-coverage', 'yes');
    const findings = await examine();
    await onAll('CONFIG', 'SET', 'cluster-require-full-coverage', 'no');
    expect(findings).toContainEqual(expect.objectContaining({ check: 'coverage', level: 'warning' }));
  });

  test('a node used as a single server is an error', async () => {
    const findings = await examine(cluster.primaries[0]?.url);
    expect(findings.find(({ check }) => check === 'mode')).toMatchObject({
      level: 'error',
      fix: expect.stringContaining('redis-cluster://'),
    });
  });

  test('a slot that nobody serves is an error', async () => {
    await onAll('CLUSTER', 'DELSLOTS', '0');
    const findings = await examine();
    await cluster.primaries[0]?.command('CLUSTER', 'ADDSLOTS', '0');
    expect(findings.find(({ check }) => check === 'slots')).toMatchObject({
      level: 'error',
      message: expect.stringMatching(/^1 of 16384/),
    });
  });

  test('a lost primary is an error, and the others are still looked at', async () => {
    const [, lost] = cluster.primaries;
    await lost?.kill();
    const findings = await examine();
    expect(findings.find(({ check }) => check === 'connection')).toMatchObject({
      level: 'error',
      message: expect.stringContaining(`127.0.0.1:${lost?.port}`),
    });
    expect(findings.find(({ check }) => check === 'server')?.message).toMatch(/^2 primaries/);
  });
});
