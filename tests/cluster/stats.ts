import { infoOf } from '../support/cluster-view.js';
import type { Server } from '../support/servers.js';

/** How often the servers ran a command since they started, in all. */
export async function callsOf(nodes: readonly Server[], command: string): Promise<number> {
  const counts = await Promise.all(
    nodes.map(async (node) => {
      const line = (await infoOf(node, 'INFO', 'commandstats')).get(`cmdstat_${command}`);
      return Number(/^calls=(\d+)/.exec(line ?? '')?.[1] ?? 0);
    }),
  );
  return counts.reduce((total, count) => total + count, 0);
}
