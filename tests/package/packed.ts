import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
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

/** Peers of the library with the versions that this repository is tested with. */
export function peers(): string[] {
  const read = (path: string) =>
    JSON.parse(readFileSync(join(root, path), 'utf8')) as Record<string, Record<string, string>>;
  const { devDependencies = {} } = read('package.json');
  return Object.keys(read('packages/comporta/package.json').peerDependencies ?? {}).map((name) => {
    return `${name}@${devDependencies[name] ?? 'latest'}`;
  });
}
