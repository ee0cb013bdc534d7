import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { write } from '../package/packed.js';
import { freePort } from '../support/ports.js';
import { watch } from '../support/reap.js';
import { until } from '../support/wait.js';
import { openProject, type Project, programOf } from './project.js';

let project: Project;
let process: ChildProcess;
let url = '';

const config = (port: number) => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker)],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-10-01",
);
`;

beforeAll(async () => {
  project = await openProject();
  const { folder } = project;
  // As Wrangler bundles a Worker; Redis clients are not there to be bundled.
  await build({
    entryPoints: [join(folder, 'inside/worker.mjs')],
    outfile: join(folder, 'worker.js'),
    bundle: true,
    format: 'esm',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['redis', 'ioredis', 'iovalkey'],
    logLevel: 'error',
  });
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  write(folder, 'config.capnp', config(port));
  process = spawn(programOf('workerd'), ['serve', 'config.capnp'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  watch(process);
  let said = '';
  process.stderr?.on('data', (chunk: Buffer) => {
    said += chunk;
  });
  await until(
    async () => {
      if (process.exitCode !== null) throw new Error(said);
      return (await fetch(`${url}/ended`)).ok;
    },
    { what: 'start of workerd' },
  );
});
afterAll(() => {
  process.kill('SIGKILL');
  project.remove();
});

const from = (address: string, path = '/') => fetch(url + path, { headers: { 'cf-connecting-ip': address } });

async function ended(): Promise<{ readonly ended: readonly unknown[]; readonly kept: number }> {
  return (await (await fetch(`${url}/ended`)).json()) as never;
}

test('in a Worker each client is refused after its limit, and every response is settled by waitUntil', async () => {
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) {
    const response = await from('203.0.113.1');
    statuses.push(response.status);
    expect((await response.text()).length).toBeGreaterThan(0);
  }
  expect(statuses).toEqual([200, 200, 200, 429]);
  const stream = await from('203.0.113.2', '/stream');
  expect([stream.status, await stream.text()]).toEqual([200, 'abc']);
  await until(async () => (await ended()).ended.length === 4, { what: 'the end of all that passed' });
  expect(await ended()).toEqual({ ended: Array(4).fill({ status: 200, aborted: false }), kept: 4 });
});

test('Hono in a Worker does the same by its own execution context', async () => {
  const before = await ended();
  const answers = [await from('203.0.113.4', '/hono'), await from('203.0.113.4', '/hono')];
  expect([answers[0]?.status, await answers[0]?.text(), answers[1]?.status]).toEqual([200, 'hello', 429]);
  await until(async () => (await ended()).ended.length > before.ended.length, { what: 'the end of what passed' });
  expect((await ended()).kept).toBe(before.kept + 1);
});

test('an upgrade to a WebSocket passes, counted', async () => {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/socket`, {
    headers: { 'cf-connecting-ip': '203.0.113.3' },
  });
  await once(socket, 'open');
  socket.send('hello');
  const [message] = (await once(socket, 'message')) as [Buffer];
  expect(message.toString()).toBe('echo hello');
  socket.close();
  expect((await ended()).ended.at(-1)).toEqual({ status: 101, aborted: false });
});

test('a store by a connection of its own is refused where connections end with the request', async () => {
  const refused = (await (await fetch(`${url}/redis`)).json()) as { code: string; message: string };
  expect(refused.code).toBe('ERR_CLIENT');
  expect(refused.message).toContain('upstash');
});
