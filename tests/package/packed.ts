import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const root: string = fileURLToPath(new URL('../..', import.meta.url));
const execute = promisify(execFile);

export interface Ran {
  readonly ok: boolean;
  readonly output: string;
}

/** Runs a command; a failure is a value, so that a test can show its words. */
export async function run(cwd: string, command: string, ...args: readonly string[]): Promise<Ran> {
  try {
    const { stdout, stderr } = await execute(command, args, { cwd, maxBuffer: 2 ** 26 });
    return { ok: true, output: stdout + stderr };
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    return { ok: false, output: `${stdout}${stderr}` || message };
  }
}

export const tool = (name: string): string => join(root, 'node_modules/.bin', name);

/** Packs a workspace as `npm publish` would; gives the path of the archive. */
export async function pack(folder: string, into: string): Promise<string> {
  const { ok, output } = await run(
    join(root, folder),
    'npm',
    'pack',
    '--json',
    '--ignore-scripts',
    '--pack-destination',
    into,
  );
  if (!ok) throw new Error(output);
  const [{ filename }] = JSON.parse(output.slice(output.indexOf('['))) as [{ filename: string }];
  return join(into, filename);
}

/** A folder with a package.json and nothing else. */
export function emptyProject(folder: string): string {
  write(folder, 'package.json', JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  return folder;
}

export function write(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

/** Names that a package exports, without `./package.json`: `comporta`, `comporta/redis`, ... */
export function doorsOf(folder: string): string[] {
  const { name, exports } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as {
    name: string;
    exports: Record<string, unknown>;
  };
  const paths = Object.keys(exports).filter((path) => path !== './package.json');
  return paths.map((path) => `${name}${path.slice(1)}`);
}

/**
 * Puts the peers of the library beside it, those that this repository is tested with: npm has held their versions
 * against the ranges already when it installed them at the root. Gives their names.
 */
export function linkPeers(folder: string): string[] {
  const { peerDependencies } = JSON.parse(readFileSync(join(root, 'packages/comporta/package.json'), 'utf8')) as {
    readonly peerDependencies: Record<string, string>;
  };
  const names = Object.keys(peerDependencies).filter((name) => existsSync(join(root, 'node_modules', name)));
  for (const name of names) link(folder, name);
  return names;
}

/** Puts a package of the root into a folder's own node_modules. */
export function link(folder: string, name: string): void {
  const path = join(folder, 'node_modules', name);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(join(root, 'node_modules', name), path);
}
