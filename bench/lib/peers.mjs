import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

const folder = new URL('../peers-lib/', import.meta.url);

/** `require` for what bench/peers-lib has installed; says how to get it, and is `undefined`, where that is not done. */
export function requireOfPeers() {
  if (existsSync(new URL('node_modules/rate-limiter-flexible/', folder))) {
    return createRequire(new URL('package.json', folder));
  }
  console.log('Without other libraries, which are not installed: npm ci --prefix bench/peers-lib\n');
  return undefined;
}
