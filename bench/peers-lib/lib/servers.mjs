// The servers under load, and what they say of their own work.
import '../../../scripts/lib/typescript.mjs';
import { PLACES, pin } from './processes.mjs';

const { startServer } = await import('../../../tests/support/servers.ts');
const { startCluster } = await import('../../../tests/support/cluster.ts');

/** One server, or a cluster of three primaries, on a processor of their own. */
export async function startTopology(kind) {
  const cluster = kind === 'cluster' ? await startCluster({ primaries: 3, replicas: 0 }) : undefined;
  const single = cluster === undefined ? await startServer() : undefined;
  const nodes = cluster?.primaries ?? [single];
  for (const { pid } of nodes) pin(pid, PLACES.server);
  return { nodes, at: { ports: nodes.map(({ port }) => port) }, stop: () => (cluster ?? single).stop() };
}

export const versionOf = async ({ nodes: [node] }) =>
  /(?:valkey|redis)_version:\S+/.exec(String(await node.command('INFO', 'server')))[0].replace('_version:', ' ');

/** Calls from clients that run a script or a transaction: what a decision needs at least one of. */
const CALLS = /^cmdstat_(?:eval|evalsha|eval_ro|evalsha_ro|fcall|exec):calls=(\d+)/gm;

/** Processor time of the servers so far in us, and calls so far. */
export async function usage({ nodes }) {
  const each = await Promise.all(
    nodes.map(async (node) => {
      const [cpu, commands] = await Promise.all([node.command('INFO', 'cpu'), node.command('INFO', 'commandstats')]);
      return usageFrom(String(cpu), String(commands));
    }),
  );
  const sum = (key) => each.reduce((total, one) => total + one[key], 0);
  return { cpuUs: sum('cpuUs'), calls: sum('calls') };
}

function usageFrom(cpu, commands) {
  const seconds = (name) => Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(cpu)[1]);
  const calls = [...commands.matchAll(CALLS)].reduce((total, [, count]) => total + Number(count), 0);
  return { cpuUs: (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6, calls };
}

/** Bytes of all keys of a server. */
export async function keyBytes({ nodes: [node] }) {
  const keys = await node.command('KEYS', '*');
  const bytes = await Promise.all(keys.map((key) => node.command('MEMORY', 'USAGE', key, 'SAMPLES', '0')));
  return bytes.reduce((sum, each) => sum + (each ?? 0), 0);
}
