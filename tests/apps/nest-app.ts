import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/ports.js';
import { watch } from '../support/reap.js';
import { until } from '../support/wait.js';
import { installLibrary, succeed } from './library.js';

const folder = fileURLToPath(new URL('./nest/', import.meta.url));

/** Makes the application from its sources and the packed library. */
export async function buildApp(): Promise<void> {
  await installLibrary(folder, '@nestjs/core');
  await succeed(folder, process.execPath, join(folder, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.json');
}

export interface StartedNest {
  readonly origin: string;
  /** What it wrote so far. */
  output(): string;
  /** Asks it to end, and resolves to its exit code. */
  stop(): Promise<number | null>;
}

/** One process of the application. */
export async function startApp(platform: 'express' | 'fastify'): Promise<StartedNest> {
  const args = ['dist/main.js', platform, `${await freePort()}`];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  watch(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (said += text.toString()));
  await until(() => /listening: \S+/.test(said) || child.exitCode !== null, { what: 'start of Nest' });
  const [, origin] = /listening: (\S+)/.exec(said) ?? [];
  if (origin === undefined) throw new Error(said);
  return { origin, output: () => said, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');
  return code;
}
