// Stores over HTTP, with calls of one tick in one request and with a request for each: decisions a second at 64 in
// flight, requests per decision, and the time of one decision when nothing else is under way. Everything runs in
// this one process (limiter, HTTP server, and what stands for Upstash) except Redis, so the network costs nothing
// and the processor all: over a real network requests cost more, and what batching saves is more.

import '../scripts/lib/typescript.mjs';
import { createServer } from 'node:http';
import { httpStore } from '../packages/comporta/dist/http-store.js';
import { createLimiter, fixedWindow } from '../packages/comporta/dist/index.js';
import { redisStore } from '../packages/comporta/dist/redis.js';
import { storeListener } from '../packages/comporta/dist/store-server.js';
import { upstashStore } from '../packages/comporta/dist/upstash.js';
import { startRedis } from './lib/redis.mjs';
import { roundsOr } from './lib/settings.mjs';
import { formatRatios, median } from './lib/stats.mjs';

const { UpstashBridge } = await import('../tests/support/upstash.ts');

const ROUNDS = roundsOr(9);
const ROUND_MS = 500;
const IN_FLIGHT = 64;
const ALONE = 50;

const redis = await startRedis();
const direct = redisStore(`redis://127.0.0.1:${redis.port}`);
await direct.ready(10_000);
const bridge = await UpstashBridge.start(redis.port);
const token = 'a-token-for-the-bench';
const service = createServer(storeListener(direct, { token })).listen(0, '127.0.0.1');
await new Promise((resolve) => service.once('listening', resolve));
const address = `http://127.0.0.1:${service.address().port}`;

/** A limiter on a store whose requests are counted. */
function counted(make) {
  const counter = { requests: 0 };
  const store = make((url, init) => {
    counter.requests++;
    return fetch(url, init);
  });
  const limits = fixedWindow({ limit: 1_000_000_000, window: '1d' });
  const limiter = createLimiter({ policy: 'bench', limits, store, timeoutMs: 5000, onStoreFailure: 'closed' });
  return { counter, limiter, store };
}

const kinds = {
  'http-store': (batch) => counted((fetch) => httpStore(address, { token, fetch, batch })),
  upstash: (batch) => counted((fetch) => upstashStore({ url: bridge.url, token: bridge.token, fetch, batch })),
};

async function decide(limiter, i) {
  const { allowed, degraded } = await limiter.consume(`client-${i % 1000}`);
  if (!allowed) throw new Error(degraded?.detail ?? 'refused');
}

async function rate({ limiter, counter }) {
  counter.requests = 0;
  bridge.requests.length = 0;
  let decisions = 0;
  const startMs = performance.now();
  const turn = async () => {
    while (performance.now() - startMs < ROUND_MS) await decide(limiter, decisions++);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, turn));
  const seconds = (performance.now() - startMs) / 1000;
  return { perSecond: decisions / seconds, requests: counter.requests / decisions };
}

async function msAlone({ limiter }) {
  const times = [];
  for (let i = 0; i < ALONE; i++) {
    const startMs = performance.now();
    await decide(limiter, i);
    times.push(performance.now() - startMs);
  }
  return median(times);
}

console.log(`Batching within a tick / a request per decision, ${IN_FLIGHT} in flight, ${ROUNDS} interleaved rounds`);
for (const [name, make] of Object.entries(kinds)) {
  const [joined, single] = [make(true), make(false)];
  for (const each of [joined, single]) await rate(each);
  const figures = { ratios: [], 'batched/s': [], 'single/s': [], 'requests per decision, batched': [], single: [] };
  const alone = { batched: [], single: [] };
  for (let round = 0; round < ROUNDS; round++) {
    const [a, b] = [await rate(joined), await rate(single)];
    figures.ratios.push(a.perSecond / b.perSecond);
    figures['batched/s'].push(a.perSecond);
    figures['single/s'].push(b.perSecond);
    figures['requests per decision, batched'].push(a.requests);
    figures.single.push(b.requests);
    alone.batched.push(await msAlone(joined));
    alone.single.push(await msAlone(single));
  }
  const { ratios, ...absolute } = figures;
  formatRatios(name, ratios, absolute);
  const [batched, apart] = [alone.batched, alone.single].map((times) => median(times).toFixed(2));
  console.log(`  ${' '.repeat(28)} one decision alone: ${batched} ms batched, ${apart} ms single`);
  for (const { limiter, store } of [joined, single]) {
    await limiter.close();
    await store.close();
  }
}
await direct.close();
await bridge.stop();
service.closeAllConnections();
service.close();
await redis.stop();
