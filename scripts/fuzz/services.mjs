// The services that are fuzzed: processes of their own, one for each mode of Envoy's domains.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../lib/aliases.mjs';

const RSS_MAX_KB = 600_000;
/** What a service says of each of its doors when it is open. */
const DOORS = {
  api: /decision API on http:\/\/127\.0\.0\.1:(\d+)/,
  admin: /admin API on http:\/\/127\.0\.0\.1:(\d+)/,
  envoy: /envoy rate limit service on 127\.0\.0\.1:(\d+)/,
};

export const TOKEN = 'a-token-of-the-fuzzer';

const DOMAIN = `domain: shop
descriptors:
  - { key: user, rate_limit: { requests_per_unit: 100, unit: second } }
  - { key: free, rate_limit: { unlimited: true } }
  - { key: shadow, value: "a*", shadow_mode: true, rate_limit: { requests_per_unit: 1, unit: week } }
`;

const limits = { tokenBucket: { capacity: 1000, refill: 1000, every: '1s' } };
const plans = { pro: { slidingWindow: { limit: 50, window: '1m' } } };

/** Every section, and a policy with all that policies may have. */
const fileOf = (mode) => ({
  trustedProxies: ['loopback'],
  policies: [
    { name: 'per-key', key: 'header:x-api-key', limits, plans, overrides: true, blocks: true },
    { name: 'places', limits: { concurrency: { limit: 5, lease: '1s' } } },
  ],
  api: { listen: '127.0.0.1:0', tokens: TOKEN, store: { tokens: TOKEN }, authorize: ['per-key'] },
  admin: { listen: '127.0.0.1:0', tokens: [{ token: TOKEN, role: 'operate', name: 'fuzzer' }] },
  envoy: { listen: '127.0.0.1:0', config: 'domain.yaml', mode, headers: true },
});

/** A process in a mode; resolves to its ports when all its doors are open. */
async function start(folder, mode) {
  const file = join(folder, `${mode}.json`);
  writeFileSync(file, JSON.stringify(fileOf(mode)));
  const main = join(root, 'packages/server/dist/cli/main.js');
  const child = spawn(process.execPath, [main, 'serve', '-c', file], { stdio: 'pipe' });
  const service = { child, mode, ports: {}, words: '' };
  await new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        service.words = (service.words + chunk).slice(-100_000);
        for (const [door, words] of Object.entries(DOORS)) {
          const found = words.exec(service.words);
          if (found !== null) service.ports[door] ??= Number(found[1]);
        }
        if (Object.keys(service.ports).length === Object.keys(DOORS).length) resolve();
      });
    }
    child.once('exit', () => reject(new Error(`the service ended: ${service.words}`)));
  });
  return service;
}

export async function startServices() {
  const folder = mkdtempSync(join(tmpdir(), 'comporta-fuzz-'));
  writeFileSync(join(folder, 'domain.yaml'), DOMAIN);
  const services = [];
  process.once('exit', () => {
    for (const { child } of services) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  for (const mode of ['compatible', 'strict']) services.push(await start(folder, mode));
  return services;
}

export const rssKbOf = ({ child }) =>
  Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)], { encoding: 'utf8' }));

/** What is wrong with a process; nothing when all is well. */
export function faultOf(service) {
  const { child, words } = service;
  if (child.exitCode !== null) return `the service ended with ${child.exitCode}`;
  if (/^\S+Z error /m.test(words)) return 'the service logged an error';
  const rssKb = rssKbOf(service);
  return rssKb > RSS_MAX_KB ? `${rssKb} kB of memory are in use` : undefined;
}
