// Decisions that go together in one call against the same library with `batch: false`, and against a bare socket that
// sends one EVALSHA of the same script for each decision. One Redis server; a hot subject below its limit, and many.

import { once } from 'node:events';
import { connect } from 'node:net';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { compose } from '../packages/comporta/dist/algorithms/compose.js';
import { createLimiter, tokenBucket } from '../packages/comporta/dist/index.js';
import { ioredisPreset, nodeRedisPreset, redisStore } from '../packages/comporta/dist/redis.js';
import { startRedis } from './lib/redis.mjs';
import { roundsOr, settingOf } from './lib/settings.mjs';
import { median } from './lib/stats.mjs';

const ROUNDS = roundsOr(7);
const ROUND_MS = settingOf('BENCH_ROUND_MS', 150, { from: 10, to: 60_000 });
const SUBJECTS = 10_000;
const limit = tokenBucket({ capacity: 10_000_000, refill: 10_000_000, every: '1s' });
const script = compose('consume', [limit]);
const HOT = 'hot subject';
const MANY = '10k subjects';

/** A socket of its own: commands of one turn in one write, replies of whole numbers read as they come. */
async function openSocket(port) {
  const socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  await once(socket, 'connect');
  const waiting = [];
  let answered = 0;
  let text = '';
  let rest = '';
  socket.on('data', (bytes) => {
    const lines = (rest + bytes.toString('latin1')).split('\r\n');
    let line = 0;
    // A line that says how many numbers follow, and one for each; the last line is not whole yet.
    for (;;) {
      const end = line + 1 + Number(lines[line].slice(1));
      if (end >= lines.length) break;
      if (lines[line][0] !== '*') throw new Error(lines[line]);
      const numbers = [];
      for (let i = line + 1; i < end; i++) numbers.push(Number(lines[i].slice(1)));
      waiting[answered++](numbers);
      line = end;
    }
    rest = lines.slice(line).join('\r\n');
    if (answered > 10_000) {
      waiting.splice(0, answered);
      answered = 0;
    }
  });
  const flush = () => {
    socket.write(text);
    text = '';
  };
  return {
    close: () => socket.destroy(),
    send: (words) =>
      new Promise((resolve) => {
        waiting.push(resolve);
        if (text === '') setImmediate(flush);
        text += `*${words.length}\r\n`;
        for (const word of words) text += `$${word.length}\r\n${word}\r\n`;
      }),
  };
}

/** Processor time of the server in us. */
async function serverCpuUs() {
  const text = await ioredis.info('cpu');
  return ['sys', 'user'].reduce((sum, of) => sum + Number(new RegExp(`used_cpu_${of}:(\\S+)`).exec(text)[1]) * 1e6, 0);
}

/** Keeps so many calls going for a while: calls per second, processor time of both sides per call, median time. */
async function measure(call, inFlight, subjects) {
  const tookMs = [];
  let calls = 0;
  const serverUs = await serverCpuUs();
  const cpu = process.cpuUsage();
  const start = performance.now();
  const worker = async (i) => {
    for (let n = i; ; n += inFlight) {
      const before = performance.now();
      if (before - start > ROUND_MS) return;
      await call(subjects === 1 ? 0 : (n * 7919) % subjects);
      calls++;
      if (inFlight === 1) tookMs.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, i) => worker(i)));
  const { user, system } = process.cpuUsage(cpu);
  const perSecond = calls / ((performance.now() - start) / 1000);
  const serverCpu = ((await serverCpuUs()) - serverUs) / calls;
  const cpuUs = (user + system) / calls;
  return {
    perSecond,
    cpuUs,
    serverCpu,
    bothUs: cpuUs + serverCpu,
    p50Us: tookMs.length > 0 ? median(tookMs) * 1000 : 0,
  };
}

const server = await startRedis();
const nodeRedis = createClient({ url: `redis://127.0.0.1:${server.port}`, ...nodeRedisPreset });
await nodeRedis.connect();
await nodeRedis.sendCommand(['SCRIPT', 'LOAD', script.text]);
const ioredis = new Redis({ port: server.port, host: '127.0.0.1', ...ioredisPreset });
await once(ioredis, 'ready');
const socket = await openSocket(server.port);
const args = ['', '1', ...limit.args.map(String)];
const wordsFor = (n) => ['EVALSHA', script.sha, '1', `cmp1:{s${n}}:bare:tokenBucket:tb`, ...args];
const bare = (n) => socket.send(wordsFor(n));
/** The same call by a client alone: no decision that goes through it can be sooner. */
const alone = {
  'node-redis': (n) => nodeRedis.sendCommand(wordsFor(n), { timeout: 0, typeMapping: {} }),
  ioredis: (n) => ioredis.call(...wordsFor(n)),
};

const limited = (client, policy, batch) => {
  const limiter = createLimiter({ policy, limits: limit, store: redisStore(client, { batch }), timeoutMs: 2000 });
  return async (n) => {
    const { allowed, degraded } = await limiter.consume(`s${n}`);
    if (!allowed || degraded) throw new Error(degraded?.detail ?? 'refused');
  };
};
const clients = { 'node-redis': nodeRedis, ioredis };
const subjectsOf = { [HOT]: 1, [MANY]: SUBJECTS };
/** One run on a busy machine may miss a goal: what must hold is held by tests/speed. */
const goal = (name, value, wanted, isMet) => {
  console.log(`  ${name}: ${value.toFixed(2)}, goal: ${wanted}${isMet ? '' : ', missed in this run'}`);
};

/** Medians of each way to ask, and of their ratios within a round. */
async function compare(inFlight, subjects, ways) {
  const rounds = [];
  for (let round = -1; round < ROUNDS; round++) {
    const figures = {};
    for (const [name, call] of Object.entries(ways)) figures[name] = await measure(call, inFlight, subjects);
    if (round >= 0) rounds.push(figures);
  }
  const ratio = (of, to, what = 'perSecond') => median(rounds.map((each) => each[of][what] / each[to][what]));
  const middle = (of, what) => median(rounds.map((each) => each[of][what]));
  for (const name of Object.keys(ways)) {
    const ratios = rounds.map((each) => each[name].perSecond / each['bare socket'].perSecond);
    const time = inFlight === 1 ? `, p50 ${middle(name, 'p50Us').toFixed(0)} us` : '';
    const range = `[${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)}]`;
    console.log(
      `    ${name.padEnd(12)} ${median(ratios).toFixed(2)} ${range} of bare, ` +
        `${(middle(name, 'perSecond') / 1000).toFixed(1)}k/s, CPU ${middle(name, 'cpuUs').toFixed(1)} + ` +
        `${middle(name, 'serverCpu').toFixed(1)} us, ${ratio(name, 'bare socket', 'bothUs').toFixed(2)} of bare${time}`,
    );
  }
  return { ratio, middle };
}

console.log(`One Redis server, ${ROUNDS} interleaved rounds of ${ROUND_MS} ms; medians`);
for (const [name, client] of Object.entries(clients)) {
  const ways = {
    'bare socket': bare,
    'one by one': limited(client, `${name}-one`, false),
    together: limited(client, `${name}-many`, true),
  };
  for (const [about, subjects] of Object.entries(subjectsOf)) {
    for (const inFlight of [1, 4, 16, 64, 256]) {
      console.log(`  ${name}, ${about}, ${inFlight} in flight`);
      const all = inFlight === 1 ? { ...ways, 'client alone': alone[name] } : ways;
      const { ratio, middle } = await compare(inFlight, subjects, all);
      if (inFlight === 1) {
        const p50 = ratio('together', 'one by one', 'p50Us');
        goal('p50 at one in flight / one by one', p50, 'at most 1.1', p50 <= 1.1);
      }
      if (inFlight === 64) {
        const [least, value] = [subjects === 1 ? 2.3 : 1.1, ratio('together', 'bare socket')];
        goal('decisions per second / bare socket', value, `at least ${least}`, value >= least);
      }
      if (inFlight === 256) {
        const cpuUs = middle('together', 'cpuUs');
        goal('CPU of the client per decision in us', cpuUs, 'at most 8', cpuUs <= 8);
      }
    }
  }
}
socket.close();
nodeRedis.destroy();
ioredis.disconnect();
await server.stop();
process.exit(0);
