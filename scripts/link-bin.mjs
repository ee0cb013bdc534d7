// npm links a workspace's command only when its file exists, and at `npm ci` nothing is built yet.
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './lib/aliases.mjs';

const main = join(root, 'packages/server/dist/cli/main.js');
const link = join(root, 'node_modules/.bin/comporta');

if (!existsSync(main)) {
  console.error('packages/server/dist/cli/main.js is missing: nothing to link');
  process.exit(1);
}
chmodSync(main, 0o755);
mkdirSync(join(root, 'node_modules/.bin'), { recursive: true });
rmSync(link, { force: true });
symlinkSync('../comporta-server/dist/cli/main.js', link);
