import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pack, run } from '../package/packed.js';
import { freePort } from '../support/ports.js';
import { watch } from '../support/reap.js';
import { until } from '../support/wait.js';

const folder = fileURLToPath(new URL('./nest/', import.meta.url));

/**
 * Puts the library into the application as npm would, from its archive, and compiles it. A link would not do: the
 * library would then find this repository's copy of Nest and throw exceptions of classes that the application's copy
 * does not know.
 */
export async function buildApp(): Promise<void> {
  if (!existsSync(join(folder, 'node_modules/@nestjs/core'))) {
    throw new Error('Nest is not installed: run `npm ci` in tests/apps/nest');
  }
  const archives = mkdtempSync(join(tmpdir(), 'comporta-nest-'));
  try {
    const archive = await pack('packages/comporta', archives);
    const library = join(folder, 'node_modules/comporta');
    rmSync(library, { recursive: true, force: true });
    mkdirSync(library);
    await succeed('tar', '-xzf', archive, '-C', library, '--strip-components', '1');
  } finally {
    rmSync(archives, { recursive: true });
  }
  await succeed(process.execPath, join(folder, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.json');
}

async function succeed(command: string, ...args: readonly string[]): Promise<void> {
  const { ok, output } = await run(folder, command, ...args);
  if (!ok) throw new Error(output);
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
