// What a limiter costs a framework: bare, with comporta and with its usual limiter, in memory and on Redis, in turns.
//   npm run build && node bench/doors.mjs [--rounds 7] [--seconds 2] [--connections 128] [--only express,hono]
// Prints requests per second relative to the framework bare, and server CPU per request, as medians.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { load, measure, startServer } from './lib/http-load.mjs';
import { startRedis } from './lib/redis.mjs';
import { numbersOf } from './lib/settings.mjs';
import { formatRatios, median } from './lib/stats.mjs';

const peers = fileURLToPath(new URL('peers/', import.meta.url));
if (!existsSync(`${peers}node_modules`)) spawnSync('npm', ['ci'], { cwd: peers, stdio: 'inherit' });
const { BODY, frameworks } = await import('./peers/frameworks.mjs');

const only = { type: 'string', default: Object.keys(frameworks).join() };
const [rounds, seconds, connections, values] = numbersOf({ rounds: 7, seconds: 2, connections: 128 }, { only });
const options = { seconds, connections, body: BODY };
const redis = await startRedis();

/** Everything that is measured side by side, by name. */
const variants = {
  bare: { limiter: 'bare' },
  'comporta, memory': { limiter: 'ours' },
  'usual, memory': { limiter: 'theirs' },
  'comporta, Redis': { limiter: 'ours', port: redis.port },
  'usual, Redis': { limiter: 'theirs', port: redis.port },
};

async function start(framework, { limiter, port }) {
  const own = port === undefined ? {} : { BENCH_REDIS: String(port) };
  return startServer(`${peers}server.mjs`, { BENCH_FRAMEWORK: framework, BENCH_LIMITER: limiter, ...own });
}

async function compare(framework) {
  const servers = {};
  for (const [name, variant] of Object.entries(variants)) servers[name] = await start(framework, variant);
  for (const { port } of Object.values(servers)) await load(port, options);
  const names = Object.keys(variants);
  const results = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    // Each round begins elsewhere, so that what drifts drifts for all.
    for (const i of names.keys()) {
      const name = names[(i + round) % names.length];
      results[name].push(await measure(servers[name], options));
    }
  }
  for (const { child } of Object.values(servers)) {
    child.removeAllListeners('exit');
    child.kill('SIGKILL');
  }
  print(framework, results);
}

function print(framework, results) {
  const ratios = (name, reference, key = 'perSecond') =>
    results[name].map((result, i) => result[key] / results[reference][i][key]);
  const row = (name) =>
    formatRatios(name, ratios(name, 'bare'), {
      'req/s': results[name].map(({ perSecond }) => perSecond),
      'µs CPU': results[name].map(({ cpuUs }) => cpuUs),
    });
  console.log(`${framework}: requests per second / bare (usual: ${frameworks[framework].peer})`);
  for (const name of Object.keys(results)) row(name);
  for (const where of ['memory', 'Redis']) {
    const [ours, theirs] = [`comporta, ${where}`, `usual, ${where}`];
    const [perSecond, cpu] = [median(ratios(ours, theirs)), median(ratios(theirs, ours, 'cpuUs'))];
    console.log(
      `  ${where}: comporta / usual ${perSecond.toFixed(2)} requests/s, ${cpu.toFixed(2)} requests per CPU second`,
    );
  }
}

for (const framework of values.only.split(',')) await compare(framework);
await redis.stop();
