import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, slotOf, startCluster } from './cluster.js';
import { infoOf } from './cluster-view.js';
import { installedKinds } from './servers.js';
import { until } from './wait.js';

test('slots are those of the cluster specification', () => {
  expect(slotOf('123456789')).toBe(0x31c3 % 16_384);
  expect(slotOf('{user1000}.following')).toBe(slotOf('{user1000}.followers'));
  expect(slotOf('foo{}{bar}')).not.toBe(slotOf('bar'));
  expect(slotOf('foo{{bar}}zap')).toBe(slotOf('{bar'));
  expect(slotOf('foo{bar}{zap}')).toBe(slotOf('bar'));
});

describe.each(installedKinds())('%s cluster', (kind) => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ kind });
  });
  afterAll(() => cluster?.stop());

  test('every node sees all slots served, and replicas are in step', async () => {
    expect(cluster.nodes).toHaveLength(6);
    for (const node of cluster.nodes) {
      const info = await infoOf(node, 'CLUSTER', 'INFO');
      expect(info.get('cluster_state')).toBe('ok');
      expect(info.get('cluster_slots_ok')).toBe('16384');
    }
    const roles = [...(await cluster.views()).values()].map(({ role }) => role);
    expect(roles).toEqual(['primary', 'primary', 'primary', 'replica', 'replica', 'replica']);
  });

  test('a key is where its slot says, and its server agrees on the slot', async () => {
    for (const key of ['a', 'x{tag}y', 'ünïcode', '{}', '{}x{y}']) {
      const node = await cluster.nodeForKey(key);
      expect(await node.command('CLUSTER', 'KEYSLOT', key)).toBe(slotOf(key));
      expect(await node.command('SET', key, 1)).toBe('OK');
    }
  });

  test('a moved slot takes its keys along, and the old node points to the new one', async () => {
    const slot = slotOf('{move}');
    const from = await cluster.nodeForSlot(slot);
    const to = cluster.primaries.find((node) => node !== from) as (typeof cluster.nodes)[number];
    for (let i = 0; i < 250; i++) await from.command('SET', `{move}${i}`, i);
    const move = await cluster.beginMove(slot, to);
    expect(await move.migrateKeys(10)).toBe(10);
    const [left] = (await from.command('CLUSTER', 'GETKEYSINSLOT', slot, 1)) as string[];
    expect(await from.command('EXISTS', left as string)).toBe(1);
    await expect(from.command('GET', '{move}none')).rejects.toMatchObject({ code: 'ASK' });
    await move.finish();
    expect(await cluster.nodeForSlot(slot)).toBe(to);
    expect(await to.command('CLUSTER', 'COUNTKEYSINSLOT', slot)).toBe(250);
    await expect(from.command('GET', '{move}7')).rejects.toMatchObject({ code: 'MOVED' });
  });

  test('when a primary dies its replica takes over its slots', async () => {
    const old = await cluster.nodeForKey('fail');
    await old.command('SET', 'fail', 'over');
    await old.command('WAIT', 1, 1000);
    await old.kill();
    const now = await cluster.nodeForKey('fail');
    expect(now).toBe(cluster.partnerOf(old));
    expect(await until(() => now.command('GET', 'fail'))).toBe('over');
  });
});
