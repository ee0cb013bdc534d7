// nginx as a server of the benchmark: a reverse proxy with one worker, in a folder of its own.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { which } from '../../scripts/lib/find-servers.mjs';
import { cpuUsOfTree } from './processes.mjs';
import { accepts, freePort } from './redis.mjs';

const START_MS = 5000;

export const findNginx = () => which('nginx');

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/** A limit that nobody reaches, by the address of the client, where one is wanted. */
const configOf = ({ folder, port, upstreamPort, isLimited }) => `
worker_processes 1;
daemon off;
pid ${folder}/nginx.pid;
error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off;
  ${TEMPORARY.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  upstream there { server 127.0.0.1:${upstreamPort}; keepalive 64; keepalive_requests 100000000; }
  ${isLimited ? 'limit_req_zone $binary_remote_addr zone=clients:10m rate=1000000r/s;' : ''}
  server {
    listen 127.0.0.1:${port};
    keepalive_requests 100000000;
    ${isLimited ? 'limit_req zone=clients burst=1000000 nodelay;' : ''}
    location / { proxy_pass http://there; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
`;

/** Starts it before an upstream. It ends with this process, its worker too. */
export async function startNginx({ upstreamPort, isLimited }) {
  const folder = mkdtempSync(join(tmpdir(), 'comporta-bench-nginx-'));
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, configOf({ folder, port, upstreamPort, isLimited }));
  const child = spawn(findNginx(), ['-p', folder, '-c', file, '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  process.once('exit', () => {
    // Not SIGKILL, which would leave its worker.
    child.kill('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  });
  const endMs = Date.now() + START_MS;
  while (!(await accepts(port))) {
    if (child.exitCode !== null || Date.now() > endMs) throw new Error('nginx does not listen');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { child, port, cpuUs: () => cpuUsOfTree(child.pid) };
}
