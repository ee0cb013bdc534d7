// `node scripts/size.mjs`: what the library adds to a bundle, minified and after gzip, and its largest files.
import { BUDGETS, bundle } from './lib/bundle.mjs';

const kib = (bytes) => `${(bytes / 1024).toFixed(1)} KiB`.padStart(10);

for (const [name, { code, gzipBytes: budget }] of Object.entries(BUDGETS)) {
  const { bytes, gzipBytes, files } = await bundle(code);
  const largest = [...files].sort((a, b) => b.bytes - a.bytes).slice(0, 3);
  const named = largest.map(({ path, bytes }) => `${path.split('/dist/').at(-1)} ${kib(bytes).trim()}`);
  console.log(`${name.padEnd(24)} ${kib(bytes)} ${kib(gzipBytes)} of ${kib(budget).trim()}   ${named.join(', ')}`);
}
