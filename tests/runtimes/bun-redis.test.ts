import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root, run } from '../package/packed.js';
import { startCluster } from '../support/cluster.js';
import { installedKinds, startServer } from '../support/servers.js';
import { programOf } from './project.js';

// Bun's own client exists in Bun only, so the cases run there. Bun reads the aliases of tsconfig.json.
test.each(installedKinds())("Bun's client passes every case of a store on %s", async (kind) => {
  await using server = await startServer({ kind });
  await using cluster = await startCluster({ kind, replicas: 0 });
  const script = join(root, 'tests/runtimes/bun-redis-suite.ts');
  const ports = [server.port, cluster.primaries[0]?.port].map(String);
  const { output } = await run(root, programOf('bun'), '--no-install', script, ...ports);
  const line = output.split('\n').findLast((text) => text.startsWith('{"passed"'));
  expect(line, output).toBeDefined();
  const { passed, failures } = JSON.parse(line ?? '') as { passed: number; failures: string[] };
  expect(failures).toEqual([]);
  expect(passed).toBeGreaterThan(80);
});
