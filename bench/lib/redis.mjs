import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findServers } from '../../scripts/lib/find-servers.mjs';

/** A server of its own on a free port, without persistence. What is `more` comes after its arguments. */
export async function startRedis(more = []) {
  const { redis, valkey } = findServers();
  const port = await freePort();
  // A replica's first copy is written to a file, which the next server in that folder would load.
  const folder = mkdtempSync(join(tmpdir(), 'comporta-bench-'));
  const own = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder];
  const child = spawn(redis ?? valkey, [...own, ...more], { stdio: 'ignore' });
  process.once('exit', () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  while (!(await accepts(port))) await new Promise((resolve) => setTimeout(resolve, 20));
  return {
    port,
    pid: child.pid,
    stop: async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

export function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
