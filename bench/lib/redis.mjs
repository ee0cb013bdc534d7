import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { findServers } from '../../scripts/lib/find-servers.mjs';

/** A server of its own on a free port, without persistence. What is `more` comes after its arguments. */
export async function startRedis(more = []) {
  const { redis, valkey } = findServers();
  const port = await freePort();
  const child = spawn(
    redis ?? valkey,
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', ...more],
    { stdio: 'ignore' },
  );
  process.once('exit', () => child.kill('SIGKILL'));
  while (!(await accepts(port))) await new Promise((resolve) => setTimeout(resolve, 20));
  return {
    port,
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
