// Where the Redis and Valkey servers of this machine are. No dependencies: it runs before `npm ci`.
import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

export const kinds = ['redis', 'valkey'];

/** Full path of a command on PATH, or undefined. */
export function which(name) {
  for (const folder of (process.env.PATH ?? '').split(delimiter).filter(Boolean)) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not in this folder: look in the next.
    }
  }
  return undefined;
}

/** The servers that are installed: `{ redis?: path, valkey?: path }`. */
export function findServers() {
  const found = kinds.map((kind) => [kind, which(`${kind}-server`)]);
  return Object.fromEntries(found.filter(([, path]) => path !== undefined));
}

/** Version such as `7.0.15`; empty when the server does not say. */
export function serverVersion(path) {
  return /\bv=([\d.]+)/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' }))?.[1] ?? '';
}
