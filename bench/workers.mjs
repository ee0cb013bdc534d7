// What workers add: the same server with one worker and with two, in turns. The gateway answers by itself (`upstream:
// echo`), the decision API decides by `/v1/consume`, both on one Redis, and the gateway with one worker in memory too,
// where there are never more. The load is wrk, which takes little of a processor (`apt-get install wrk`). Linux only.
//   npm run build && node bench/workers.mjs [--rounds 5] [--seconds 2] [--connections 32]
// Prints requests per second, per second of the server's processor time, how many processors the server and Redis had,
// and what was left. Where that is nothing, requests per second tell how processors were shared, not what workers add.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { which } from '../scripts/lib/find-servers.mjs';
import { cpuUsOfTree, idleSeconds } from './lib/processes.mjs';
import { startRedis } from './lib/redis.mjs';
import { numbersOf } from './lib/settings.mjs';
import { median } from './lib/stats.mjs';

const MAIN = fileURLToPath(new URL('../packages/server/dist/cli/main.js', import.meta.url));
const SUBJECTS = 1000;
/** Requests of many subjects, in turn. */
const LOADS = {
  gateway: 'wrk.headers["x-api-key"] = "key-" .. n',
  consume: `wrk.method = "POST"
  wrk.headers["content-type"] = "application/json"
  wrk.body = '{"policy": "per-key", "subject": ["key-' .. n .. '"]}'`,
};
const scriptOf = (load) => `local n = 0
request = function()
  n = (n + 1) % ${SUBJECTS}
  ${load}
  return wrk.format()
end`;

if (which('wrk') === undefined) {
  console.log('wrk is not installed: apt-get install wrk');
  process.exit(0);
}
const [rounds, seconds, connections] = numbersOf({ rounds: 5, seconds: 2, connections: 32 });
const folder = mkdtempSync(join(tmpdir(), 'comporta-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const [door, load] of Object.entries(LOADS)) writeFileSync(join(folder, `${door}.lua`), scriptOf(load));

const configOf = (workers, store) => ({
  store,
  workers,
  timeout: '1s',
  policies: [
    {
      name: 'per-key',
      key: 'header:x-api-key',
      limits: { tokenBucket: { capacity: 100_000_000, refill: 1_000_000, every: '1s' } },
    },
  ],
  gateway: { listen: '127.0.0.1:0', routes: [{ path: '/', upstream: 'echo' }] },
  api: { listen: '127.0.0.1:0' },
});

/** A server of its own, with the ports that it tells. */
async function startServer(workers, store) {
  const file = join(folder, `${store.slice(0, 5)}-${workers}.json`);
  writeFileSync(file, JSON.stringify(configOf(workers, store)));
  const child = spawn(process.execPath, [MAIN, 'serve', '-c', file], { stdio: ['ignore', 'pipe', 'ignore'] });
  process.once('exit', () => child.kill('SIGTERM'));
  let told = '';
  child.stdout.setEncoding('utf8');
  for (;;) {
    const [text] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(() => [undefined])]);
    if (text === undefined) throw new Error(`comporta serve ended: ${told}`);
    told += text;
    const gateway = /^gateway on http:\S+:(\d+)$/m.exec(told)?.[1];
    const api = /^decision API on http:\/\/[^:/]+:(\d+)/m.exec(told)?.[1];
    if (gateway && api) {
      return { child, gateway: `http://127.0.0.1:${gateway}/items`, consume: `http://127.0.0.1:${api}/v1/consume` };
    }
  }
}

/** One load on one address. */
async function measure(server, door) {
  const standing = () => ({
    server: cpuUsOfTree(server.child.pid),
    redis: cpuUsOfTree(redis.pid),
    idle: idleSeconds(),
    ms: performance.now(),
  });
  const before = standing();
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', join(folder, `${door}.lua`), server[door]];
  const { stdout } = await promisify(execFile)('wrk', args);
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(stdout);
  const after = standing();
  const passed = (after.ms - before.ms) / 1000;
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]);
  const serverCpu = (after.server - before.server) / 1e6 / passed;
  return {
    perSecond,
    perCpuSecond: perSecond / serverCpu,
    serverCpu,
    redisCpu: (after.redis - before.redis) / 1e6 / passed,
    left: (after.idle - before.idle) / passed,
  };
}

const redis = await startRedis();
const url = `redis://127.0.0.1:${redis.port}`;
const servers = {
  'memory, workers: 1': await startServer(1, 'memory'),
  'Redis, workers: 1': await startServer(1, url),
  'Redis, workers: 2': await startServer(2, url),
};
const names = Object.keys(servers);
console.log(
  `${rounds} interleaved rounds of ${seconds} s, ${connections} connections, ${SUBJECTS} subjects: the middle`,
);
for (const door of Object.keys(LOADS)) {
  const results = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const result = await measure(servers[name], door);
      if (round >= 0) results[name].push(result);
    }
  }
  console.log(`${door}, of ${availableParallelism()} processors:`);
  for (const [name, all] of Object.entries(results)) {
    const of = (key, digits) => median(all.map((one) => one[key])).toFixed(digits);
    const speed = `${of('perSecond', 0)} requests a second, ${of('perCpuSecond', 0)} a CPU second`;
    const had = `server ${of('serverCpu', 2)}, Redis ${of('redisCpu', 2)}, left ${of('left', 2)}`;
    console.log(`  ${name.padEnd(19)} ${speed}; ${had}`);
  }
}
for (const { child } of Object.values(servers)) {
  child.kill('SIGTERM');
  await once(child, 'exit');
}
await redis.stop();
