// Bundles what a user imports as a bundler for an edge runtime does, and weighs it.
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { root } from './aliases.mjs';

/** Packages that are there only where somebody installed them. */
const EXTERNAL = ['redis', 'ioredis', 'iovalkey', 'h3', 'elysia', 'hono', '@valkey/valkey-glide', 'node:*'];

/** Gives the text, its bytes minified and after gzip, and which of our files have how many bytes in it. */
export async function bundle(code) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: code, resolveDir: root },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    target: 'es2022',
    tsconfigRaw: {},
    external: EXTERNAL,
    outfile: 'bundle.js',
    logLevel: 'error',
  });
  const [{ text }] = outputFiles;
  const [{ inputs }] = Object.values(metafile.outputs);
  const files = Object.entries(inputs).map(([path, { bytesInOutput }]) => ({ path, bytes: bytesInOutput }));
  return { text, bytes: Buffer.byteLength(text), gzipBytes: gzipSync(text, { level: 9 }).length, files };
}

const FETCH = `export { withRateLimit } from 'comporta/fetch'; export { tokenBucket } from 'comporta';`;

/** The smallest useful imports, and how many bytes after gzip they may have: a little more than they do. */
export const BUDGETS = {
  'a limiter in memory': { code: `export { createLimiter, tokenBucket } from 'comporta';`, gzipBytes: 36_600 },
  'fetch adapter, memory': { code: FETCH, gzipBytes: 53_000 },
  'fetch adapter, Upstash': {
    code: `${FETCH} export { upstashStore } from 'comporta/upstash';`,
    gzipBytes: 71_400,
  },
};
