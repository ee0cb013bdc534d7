// What a decision and a subject cost one Redis, by algorithm: the figures that `comporta plan` reckons with.
//   npm run build && node bench/figures.mjs [--write]
// --write puts them into packages/server/src/plan/measured.ts. A replica is attached, for the bytes it is sent.
import { writeFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { compose } from '../packages/comporta/dist/algorithms/compose.js';
import * as limits from '../packages/comporta/dist/index.js';
import { startRedis } from './lib/redis.mjs';
import { flagsOf, roundsOr } from './lib/settings.mjs';
import { median } from './lib/stats.mjs';

const { write } = flagsOf({ write: { type: 'boolean' } });
const ROUNDS = roundsOr(9);
const CALLS = 10_000;
const SUBJECTS = 1000;
/** Entries of the algorithms that keep one for each admission or holder. */
const ENTRIES = [10, 100, 1000];

const { tokenBucket, slidingWindow, slidingWindowCounter, fixedWindow, quota, concurrency } = limits;
const algorithms = {
  tokenBucket: () => tokenBucket({ capacity: 1e6, refill: 1e6, every: '1h' }),
  slidingWindow: () => slidingWindow({ limit: 1e6, window: '1h' }),
  slidingWindowCounter: () => slidingWindowCounter({ limit: 1e6, window: '1h' }),
  fixedWindow: () => fixedWindow({ limit: 1e6, window: '1h' }),
  quota: () => quota({ limit: 1e9, per: 'year' }),
  concurrency: () => concurrency({ limit: 100_000, lease: '1h' }),
};

const primary = await startRedis();
const replica = await startRedis(['--replicaof', '127.0.0.1', String(primary.port)]);
const redis = new Redis({ port: primary.port, host: '127.0.0.1' });
while (!(await redis.info('replication')).includes('state=online'))
  await new Promise((resolve) => setTimeout(resolve, 50));

async function infoOf(section) {
  const lines = (await redis.info(section)).split('\r\n').map((line) => line.split(':'));
  return Object.fromEntries(lines.filter(([, value]) => value !== undefined));
}

async function standing() {
  const [cpu, stats, replication] = [await infoOf('cpu'), await infoOf('stats'), await infoOf('replication')];
  return {
    us: (Number(cpu.used_cpu_user_main_thread) + Number(cpu.used_cpu_sys_main_thread)) * 1e6,
    inBytes: Number(stats.total_net_input_bytes),
    outBytes: Number(stats.total_net_output_bytes),
    replicaBytes: Number(replication.master_repl_offset),
  };
}

let holder = 0;

/** Calls of one script for many subjects, 64 at a time, each its own command. */
async function decide(list, calls, subjects = SUBJECTS, tag = '') {
  const { text } = compose('consume', list);
  const sha = await redis.script('LOAD', text);
  const args = list.flatMap((limit) => (limit.argsAt?.(Date.now()) ?? limit.args).map(String));
  for (let done = 0; done < calls; done += 64) {
    const pipeline = redis.pipeline();
    for (let i = 0; i < 64; i++) {
      const keys = list.map((_, k) => `cmp1:{ip=203.0.113.${(done + i) % subjects}}:api:${tag}${k}:xx`);
      pipeline.evalsha(sha, keys.length, ...keys, '', '1', ...args, `holder${holder++}`);
    }
    const failed = (await pipeline.exec()).find(([error]) => error !== null);
    if (failed) throw failed[0];
  }
}

/** Costs of one decision with these limits. */
async function costOf(list) {
  await redis.flushall();
  await decide(list, 2000);
  const before = await standing();
  await decide(list, CALLS);
  const after = await standing();
  return Object.fromEntries(Object.keys(before).map((key) => [key, (after[key] - before[key]) / CALLS]));
}

/** Bytes that a subject takes which has that many entries. */
async function bytesOf(list, entries) {
  await redis.flushall();
  const before = Number((await infoOf('memory')).used_memory);
  const subjects = Math.max(64, Math.min(SUBJECTS, Math.floor(200_000 / entries)));
  await decide(list, subjects * entries, subjects);
  const held = await redis.dbsize();
  return (Number((await infoOf('memory')).used_memory) - before) / held;
}

const round = (value) => Number(value.toFixed(value < 100 ? 1 : 0));

/** What a further limit of the same kind adds, and what is left for the call itself. */
async function figuresOf(name) {
  const make = algorithms[name];
  const [one, two] = [[], []];
  for (let i = 0; i < ROUNDS; i++) {
    one.push(await costOf([make()]));
    two.push(await costOf([make(), make()]));
  }
  const middle = (costs, key) => median(costs.map((cost) => cost[key]));
  const added = median(two.map((cost, i) => cost.us - one[i].us));
  const grows = name === 'slidingWindow' || name === 'concurrency';
  const sizes = grows ? ENTRIES : [1];
  const bytes = {};
  for (const entries of sizes) bytes[entries] = Math.round(await bytesOf([make()], entries));
  return {
    cpuUs: round(middle(one, 'us')),
    furtherCpuUs: round(added),
    inBytes: Math.round(middle(one, 'inBytes')),
    // What goes to the replica is among what goes out.
    outBytes: Math.round(middle(one, 'outBytes') - middle(one, 'replicaBytes')),
    replicaBytes: Math.round(middle(one, 'replicaBytes')),
    bytes,
  };
}

/** As the formatter writes it. */
const inOneLine = (value) =>
  JSON.stringify(value, null, 1)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/"([A-Za-z0-9]+)":/g, '$1:');

const figures = {};
console.log(
  'Of one Redis, per decision: µs of its processor, more for a further limit, bytes in, out and to a replica;',
);
console.log('per subject: bytes of memory, by the number of entries.');
for (const name of Object.keys(algorithms)) {
  figures[name] = await figuresOf(name);
  const { cpuUs, furtherCpuUs, inBytes, outBytes, replicaBytes, bytes } = figures[name];
  const sizes = Object.entries(bytes).map(([entries, size]) => (entries === '1' ? `${size}` : `${entries}: ${size}`));
  console.log(
    `  ${name.padEnd(22)} ${cpuUs} (+${furtherCpuUs}) µs · ${inBytes} / ${outBytes} / ${replicaBytes} B · ${sizes.join(', ')} B`,
  );
}
if (write) {
  const file = new URL('../packages/server/src/plan/measured.ts', import.meta.url);
  const entries = Object.entries(figures).map(([name, figure]) => `  ${name}: ${inOneLine(figure)},\n`);
  writeFileSync(
    file,
    `// Written by \`npm run bench figures -- --write\`.\nexport const MEASURED = {\n${entries.join('')}} as const;\n`,
  );
}
redis.disconnect();
await replica.stop();
await primary.stop();
