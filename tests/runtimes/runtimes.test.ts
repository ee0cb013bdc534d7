import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { doorsOf, root } from '../package/packed.js';
import { freePort } from '../support/ports.js';
import { watch } from '../support/reap.js';
import { type Server, startServer } from '../support/servers.js';
import { openProject, type Project, programOf } from './project.js';

// What users install, run by the runtimes that they use; Node 20 runs all other tests.
let project: Project;
let server: Server;
beforeAll(async () => {
  [project, server] = await Promise.all([openProject(), startServer()]);
});
afterAll(async () => {
  project.remove();
  await server.stop();
});

const doors = doorsOf('packages/comporta');

describe.each(['node22', 'node24', 'bun', 'deno'] as const)('on %s', (runtime) => {
  test('every entry point loads', async () => {
    expect(await project.run(runtime, 'imports.mjs', ...doors)).toEqual({ loaded: doors.length });
  });

  test('stores by a client and by a URL share one Redis, and exactly the limit passes', async () => {
    expect(await project.run(runtime, 'redis.mjs', server.url, runtime)).toEqual({
      allowed: 5,
      degraded: 0,
      policy: 'runtimes',
    });
  });

  test('every adapter passes the published suite', async () => {
    const kind = runtime.startsWith('node') ? 'node' : runtime;
    const { passed, failures, cases } = (await project.run(runtime, 'suite.mjs', kind)) as Report;
    expect(failures).toEqual([]);
    expect(cases).toBeGreaterThan(20);
    expect(passed / cases).toBe({ node22: 3, node24: 3, bun: 4, deno: 3 }[runtime]);
  });
});

test('on bun sockets and streams of its own pass, are counted and end', async () => {
  expect(await project.run('bun', 'bun-streams.mjs')).toEqual({
    parts: 'ab',
    echoes: ['hello', 'hello', 'refused', 'hello', 'refused', 'refused'],
    ended: ['elysia 200 whole', 'fetch 101 whole', 'fetch 101 whole', 'elysia 101 whole'],
  });
});

test('on bun the example elysia says what to try, and refuses the sixth request', async () => {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port) };
  const child = spawn(programOf('bun'), [join(root, 'examples/elysia/index.ts')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  watch(child);
  onTestFinished(() => void child.kill('SIGKILL'));
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  expect(said.toString()).toMatch(/^try: /);
  const statuses: number[] = [];
  for (let i = 0; i < 6; i++) statuses.push((await fetch(`http://127.0.0.1:${port}/`)).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
});

interface Report {
  readonly passed: number;
  readonly failures: readonly string[];
  readonly cases: number;
}
