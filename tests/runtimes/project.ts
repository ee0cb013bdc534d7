import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { emptyProject, link, pack, type Ran, run } from '../package/packed.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const PLATFORM = `${process.platform}-${process.arch}`;

/** Where npm puts the programs; none runs a script while it installs. */
const PROGRAMS = {
  node22: [`node22-${PLATFORM}/bin/node`],
  node24: [`node24-${PLATFORM}/bin/node`],
  bun: [`@oven/bun-${PLATFORM.replace('arm64', 'aarch64')}/bin/bun`],
  deno: [`@deno/${PLATFORM}-glibc/deno`, `@deno/${PLATFORM}/deno`],
  workerd: [`@cloudflare/workerd-${PLATFORM.replace('x64', '64')}/bin/workerd`],
} as const;

export type Runtime = keyof typeof PROGRAMS;

export function programOf(runtime: Runtime): string {
  const found = PROGRAMS[runtime].map((path) => join(here, 'node_modules', path)).find(existsSync);
  if (found === undefined) throw new Error(`${runtime} is missing: run \`node scripts/install-runtimes.mjs\``);
  return found;
}

/** Packages that the scripts of `inside/` use beside comporta: those that the repository is tested with. */
const PEERS = ['@hono/node-server', 'elysia', 'express', 'h3', 'hono', 'ioredis', 'redis'];

export interface Project {
  readonly folder: string;
  /** Runs a script of `inside/`; gives what its last line says. */
  run(runtime: Exclude<Runtime, 'workerd'>, script: string, ...args: readonly string[]): Promise<unknown>;
  remove(): void;
}

/** A folder as a user has it: comporta from its archive, and the packages that it works with. */
export async function openProject(): Promise<Project> {
  const folder = emptyProject(mkdtempSync(join(tmpdir(), 'comporta-runtimes-')));
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, 'comporta'), { recursive: true });
  const archive = await pack('packages/comporta', folder);
  const unpacked = await run(folder, 'tar', '-xzf', archive, '-C', join(modules, 'comporta'), '--strip-components=1');
  if (!unpacked.ok) throw new Error(unpacked.output);
  for (const name of PEERS) link(folder, name);
  cpSync(join(here, 'inside'), join(folder, 'inside'), { recursive: true });
  return {
    folder,
    run: async (runtime, script, ...args) =>
      lastLine(await run(folder, programOf(runtime), ...FLAGS[runtime], join(folder, 'inside', script), ...args)),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const FLAGS = {
  node22: [],
  node24: [],
  bun: ['--no-install'],
  deno: ['run', '--allow-all', '--node-modules-dir=manual', '--no-lock', '--quiet'],
} as const;

/** Runtimes and stores may say more, to standard error. */
function lastLine({ ok, output }: Ran): unknown {
  const line = output.split('\n').findLast((text) => text.startsWith('{"'));
  if (!ok || line === undefined) throw new Error(output);
  return JSON.parse(line);
}
