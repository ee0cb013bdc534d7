import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/ports.js';
import { watch } from '../support/reap.js';
import { until } from '../support/wait.js';
import { installLibrary, succeed } from './library.js';

const folder = fileURLToPath(new URL('./next/', import.meta.url));
const next = join(folder, 'node_modules/next/dist/bin/next');

/** Makes the application from its sources and the packed library. */
export async function buildApp(): Promise<void> {
  await installLibrary(folder, 'next');
  await succeed(folder, 'env', 'NEXT_TELEMETRY_DISABLED=1', 'NODE_ENV=production', process.execPath, next, 'build');
}

export interface StartedNext {
  readonly origin: string;
  /** What it wrote so far. */
  output(): string;
  stop(): Promise<void>;
}

/** One process of `next start` on a free port of 127.0.0.1. */
export async function startApp(redisUrl = 'redis://127.0.0.1:1'): Promise<StartedNext> {
  const port = await freePort();
  const env = { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1', REDIS_URL: redisUrl } as const;
  const args = [next, 'start', '-H', '127.0.0.1', '-p', `${port}`];
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  watch(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (said += text.toString()));
  await until(() => said.includes('Ready in') || child.exitCode !== null, { what: 'start of Next' });
  if (child.exitCode !== null) throw new Error(said);
  const origin = `http://127.0.0.1:${port}`;
  // It listens before it has run `instrumentation.ts`, and answers after.
  await until(async () => (await fetch(`${origin}/files/a.txt`)).ok, { what: 'first answer of Next' });
  return { origin, output: () => said, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await until(() => child.exitCode !== null || child.signalCode !== null, { what: 'end of Next' });
}

let lastClient = 0;

/** Header fields of a client that nobody was before, as a reverse proxy on this machine would pass it on. */
export function newClient(): Record<string, string> {
  lastClient += 1;
  return { 'x-forwarded-for': `203.0.113.${lastClient}` };
}
