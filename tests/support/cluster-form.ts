import { infoOf, selfView } from './cluster-view.js';
import type { Server } from './servers.js';
import { SLOTS } from './slots.js';
import { until } from './wait.js';

/** Makes fresh nodes one cluster by raw commands; resolves when every slot is served and copied. */
export async function formCluster(primaries: readonly Server[], replicas: readonly Server[]): Promise<void> {
  const nodes = [...primaries, ...replicas];
  await Promise.all(nodes.map((node, index) => node.command('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)));
  await Promise.all(primaries.map((node, index) => addSlots(node, index, primaries.length)));
  await meet(nodes);
  await Promise.all(replicas.map((node, index) => replicate(node, primaries[index % primaries.length])));
  await Promise.all(nodes.map((node) => until(() => isSettled(node, primaries.length), { what: 'a settled cluster' })));
  await Promise.all(replicas.map((node) => until(() => isInStep(node), { what: 'a replica in step' })));
}

async function addSlots(node: Server, index: number, of: number): Promise<void> {
  const from = Math.floor((SLOTS * index) / of);
  const to = Math.floor((SLOTS * (index + 1)) / of) - 1;
  await node.command('CLUSTER', 'ADDSLOTSRANGE', from, to);
}

/** Everybody is introduced to everybody, which is faster than to wait for gossip. */
async function meet(nodes: readonly Server[]): Promise<void> {
  for (const node of nodes) {
    for (const other of nodes) if (other !== node) await node.command(...(await meetCommand(other)));
  }
  await Promise.all(
    nodes.map((node) => until(() => knows(node, nodes.length), { what: 'nodes that know each other' })),
  );
}

async function meetCommand(node: Server): Promise<[string, string, string, number, string]> {
  const [, busPort] = (await node.command('CONFIG', 'GET', 'cluster-port')) as [string, string];
  return ['CLUSTER', 'MEET', '127.0.0.1', node.port, busPort];
}

async function knows(node: Server, count: number): Promise<boolean> {
  const text = String(await node.command('CLUSTER', 'NODES'));
  return !text.includes('handshake') && text.trim().split('\n').length === count;
}

async function replicate(node: Server, primary: Server | undefined): Promise<void> {
  if (primary !== undefined) await node.command('CLUSTER', 'REPLICATE', (await selfView(primary)).id);
}

async function isSettled(node: Server, primaries: number): Promise<boolean> {
  const info = await infoOf(node, 'CLUSTER', 'INFO');
  const served = info.get('cluster_state') === 'ok' && info.get('cluster_slots_ok') === String(SLOTS);
  return served && info.get('cluster_size') === String(primaries) && (await knowsRoles(node, primaries));
}

async function knowsRoles(node: Server, primaries: number): Promise<boolean> {
  const text = String(await node.command('CLUSTER', 'NODES'));
  return text.split('\n').filter((line) => /\bmaster\b/.test(line)).length === primaries;
}

async function isInStep(node: Server): Promise<boolean> {
  return (await infoOf(node, 'INFO', 'replication')).get('master_link_status') === 'up';
}
