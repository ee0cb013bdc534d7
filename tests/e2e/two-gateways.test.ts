import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/cluster.js';
import { makeFolder, runCommand } from './cli-support.js';

const LIMIT = 20;

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster.stop());

/** A gateway in a process of its own, as a person starts it; resolves to its port. */
async function startGateway(folder: string): Promise<number> {
  const file = join(folder, 'comporta.yaml');
  const policy = `{ name: per-client, key: ip, limits: { slidingWindow: { limit: ${LIMIT}, window: 10m } } }`;
  const text = `store: ${cluster.url}
timeout: 2s
policies: [${policy}]
gateway: { listen: 127.0.0.1:0, routes: [{ path: /, upstream: echo }] }
api: { listen: 127.0.0.1:0 }
`;
  writeFileSync(file, text);
  return (await runCommand(['serve', '-c', file]).ports()).gateway;
}

test('two gateways on one cluster enforce one limit', async () => {
  const folder = makeFolder();
  const ports = [await startGateway(folder), await startGateway(folder)];
  const urls = Array.from({ length: LIMIT * 2 }, (_, i) => `http://127.0.0.1:${ports[i % 2]}/`);
  const statuses = await Promise.all(urls.map(async (url) => (await fetch(url)).status));
  expect(statuses.filter((status) => status === 200)).toHaveLength(LIMIT);
  expect(statuses.filter((status) => status === 429)).toHaveLength(LIMIT);
});
