import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startApp } from '../../packages/server/src/app.js';
import { loadConfig } from '../../packages/server/src/config/load.js';
import { which } from '../../scripts/lib/find-servers.mjs';
import { documentsOf } from '../support/manifests.js';
import { freePort } from '../support/ports.js';
import { type Server, startServer } from '../support/servers.js';
import { root } from './packed.js';

const folder = join(root, 'deploy/compose');
const cli = which('valkey-cli') ?? which('redis-cli') ?? '';

/** Settings of the nodes as the compose file has them, without the program's name. */
function settings(): readonly string[] {
  const [compose] = documentsOf<{
    readonly services: Readonly<Record<string, { readonly command: readonly string[] }>>;
  }>(readFileSync(join(folder, 'compose.yaml'), 'utf8'));
  return compose?.services['valkey-1']?.command.slice(1) ?? [];
}

const join6 = (nodes: readonly Server[]): string =>
  execFileSync('sh', [join(folder, 'create-cluster.sh'), ...nodes.map(({ port }) => `127.0.0.1:${port}`)], {
    encoding: 'utf8',
    env: { ...process.env, CLI: cli },
  });

const shapeOf = async (node: Server): Promise<string> => {
  const lines = String(await node.command('CLUSTER', 'NODES'))
    .trim()
    .split('\n');
  const count = (role: string) => lines.filter((line) => new RegExp(`\\b${role}\\b`).test(line)).length;
  return `${count('master')}+${count('slave')}`;
};

test('six fresh nodes become a cluster of three and three, once, in which two gateways count together', async () => {
  // Ten thousand above the other, as is the custom, outgoing connections have theirs.
  const started = Array.from({ length: 6 }, async () =>
    startServer({ args: [...settings(), '--cluster-port', String(await freePort())] }),
  );
  const nodes = await Promise.all(started);
  onTestFinished(async () => void (await Promise.all(nodes.map((node) => node.stop()))));
  expect(join6(nodes)).toContain('6 nodes serve all slots');
  const [first] = nodes;
  if (first === undefined) throw new Error('no node');
  await expect.poll(() => shapeOf(first), { timeout: 10_000 }).toBe('3+3');
  const again = join6(nodes);
  expect(again.trim()).toBe('create-cluster: 6 nodes serve all slots');

  const gateways = [await startGateway(first), await startGateway(first)];
  const statuses: number[] = [];
  for (let i = 0; i < 12; i += 1) statuses.push((await fetch(gateways[i % 2] ?? '')).status);
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429, 429]);
});

/** The file of the gateways, on ports of this machine and with the built-in service; gives its origin. */
async function startGateway(node: Server): Promise<string> {
  const text = readFileSync(join(folder, 'comporta.yaml'), 'utf8')
    .replace(/redis-cluster:\S+/, `redis-cluster://127.0.0.1:${node.port}`)
    .replace('0.0.0.0:8080', `127.0.0.1:${await freePort()}`)
    .replace('0.0.0.0:8081', `127.0.0.1:${await freePort()}`)
    .replace('0.0.0.0:8083', `127.0.0.1:${await freePort()}`)
    .replace('http://web:3000', 'echo');
  const loaded = loadConfig(text, {
    COMPORTA_API_TOKEN: 'a-token-of-some-length',
    COMPORTA_ADMIN_TOKEN: 'another-token-of-some-length',
  });
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
  const app = await startApp(loaded.config, { info: ignore, warn: ignore, error: ignore });
  onTestFinished(() => app.stop());
  return `http://127.0.0.1:${app.gateway?.port}/`;
}

function ignore(): void {}
