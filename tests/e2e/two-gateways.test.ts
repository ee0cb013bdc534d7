import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/cluster.js';
import { makeFolder, runCommand } from './cli-support.js';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster.stop());

/** A gateway in a process of its own, as a person starts it; resolves to its port. */
async function startGateway(folder: string, policy: string): Promise<number> {
  const file = join(folder, 'comporta.yaml');
  const text = `store: ${cluster.url}
timeout: 2s
policies: [${policy}]
gateway: { listen: 127.0.0.1:0, routes: [{ path: /, upstream: echo }] }
api: { listen: 127.0.0.1:0 }
`;
  writeFileSync(file, text);
  return (await runCommand(['serve', '-c', file]).ports()).gateway;
}

/** How many of so many requests, each to the next gateway in turn, were let through; the others got 429. */
async function admittedBy(policy: string, requests: number): Promise<number> {
  const folder = makeFolder();
  const ports = [await startGateway(folder, policy), await startGateway(folder, policy)];
  const urls = Array.from({ length: requests }, (_, i) => `http://127.0.0.1:${ports[i % 2]}/`);
  const statuses = await Promise.all(urls.map(async (url) => (await fetch(url)).status));
  const countOf = (wanted: number) => statuses.filter((status) => status === wanted).length;
  expect(countOf(200) + countOf(429)).toBe(requests);
  return countOf(200);
}

test('two gateways on one cluster enforce one limit', async () => {
  const policy = '{ name: per-client, key: ip, limits: { slidingWindow: { limit: 20, window: 10m } } }';
  expect(await admittedBy(policy, 40)).toBe(20);
});

test('two gateways enforce one limit on a subject that lives on all masters', async () => {
  const limits = '{ slidingWindow: { limit: 64, window: 10m } }';
  const policy = `{ name: all, key: global, limits: ${limits}, split: { parts: 4, subjects: [global] } }`;
  // Asked for twice as often as they may be: every part fills up.
  expect(await admittedBy(policy, 256)).toBe(64);
  const keys = cluster.primaries.map((node) => node.command('KEYS', 'cmp1:{%p*.global}:all:*'));
  expect((await Promise.all(keys)).map((found) => (found as string[]).length).sort()).toEqual([1, 1, 2]);
});
