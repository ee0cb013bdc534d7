// Two stores on one Redis, by a client and by its URL: of many requests at once exactly the limit passes.
import { createLimiter, slidingWindow } from 'comporta';
import { redisStore } from 'comporta/redis';
import { Redis } from 'ioredis';

const [url, subject] = process.argv.slice(2);
/** As docs/redis.md asks for. */
const preset = { enableOfflineQueue: false, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false };
const client = new Redis(url, { ...preset, lazyConnect: true });
await client.connect();
const stores = [redisStore(client), redisStore(url)];
const limits = slidingWindow({ limit: 5, window: '1h' });
const limiters = stores.map((store) => createLimiter({ policy: 'runtimes', limits, store, timeoutMs: 10_000 }));

/** A store made from a URL connects in the background. */
async function connected(limiter) {
  for (let i = 0; i < 200; i++) {
    if ((await limiter.peek('nobody')).degraded === undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
await Promise.all(limiters.map(connected));
const decisions = await Promise.all(Array.from({ length: 20 }, (_, i) => limiters[i % 2].consume(subject)));
const allowed = limiters.map((_, which) => decisions.filter((one, i) => i % 2 === which && one.allowed).length);
const degraded = decisions.filter((one) => one.degraded !== undefined).length;
await Promise.all(limiters.map((limiter) => limiter.close()));
await Promise.all(stores.map((store) => store.close()));
client.disconnect();
console.log(JSON.stringify({ allowed: allowed[0] + allowed[1], degraded, policy: decisions[0].policy }));
