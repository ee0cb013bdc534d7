import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const load = createRequire(import.meta.url);

/** A package of this folder, which the root does without; says what to do where it is not installed. */
export function loadClient(name: string): unknown {
  if (existsSync(`${here}node_modules/${name}/package.json`)) return load(name);
  throw new Error(`${name} is missing: run \`node scripts/install-runtimes.mjs\``);
}
