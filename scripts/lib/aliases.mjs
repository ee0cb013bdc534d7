// Maps what the packages export to the source files behind it, so that tests run without a build.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Export name to source file: `comporta/redis` to `.../src/redis/index.ts`. */
export function sourceAliases() {
  return Object.fromEntries(['packages/comporta', 'packages/server'].flatMap(aliasesOf));
}

function aliasesOf(folder) {
  const { name, exports } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const built = Object.entries(exports).filter(([, target]) => typeof target === 'object');
  return built.map(([path, target]) => [
    `${name}${path.slice(1)}`,
    join(root, folder, target.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts')),
  ]);
}
