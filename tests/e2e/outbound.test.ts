import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLimiter, slidingWindow, tokenBucket } from 'comporta';
import { rateLimit } from 'comporta/express';
import { limitFetch } from 'comporta/outbound';
import express from 'express';
import { expect, test } from 'vitest';
import { startServer } from '../support/servers.js';
import { until } from '../support/wait.js';
import { startWorkers } from '../support/workers.js';
import type { OutboundArgs } from './outbound-worker.js';

/** A server on a free port that goes with the test. */
async function serve(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { url, [Symbol.asyncDispose]: stop };
}

/** A third party that takes 60 requests in any second, and says so. */
function strictThirdParty() {
  const app = express();
  const counts = { ok: 0, refused: 0 };
  app.use((_, response, next) => {
    response.on('finish', () => counts[response.statusCode === 200 ? 'ok' : 'refused']++);
    next();
  });
  app.use(rateLimit({ name: 'default', limits: slidingWindow({ limit: 60, window: '1s' }) }));
  app.get('/', (_, response) => void response.send('fine'));
  return { app, counts };
}

test('three processes keep a third party’s limit together, and every request is answered', async () => {
  const { app, counts } = strictThirdParty();
  await using thirdParty = await serve(app);
  await using redis = await startServer();
  const args: OutboundArgs = { redis: redis.url, thirdParty: thirdParty.url, requests: 40 };
  await using workers = startWorkers<number[]>(3, new URL('./outbound-worker.ts', import.meta.url), args);
  await workers.receive();
  const startMs = performance.now();
  workers.send('go');
  const statuses = (await workers.results()).flat();
  const tookMs = performance.now() - startMs;
  expect(statuses).toEqual(Array.from({ length: 120 }, () => 200));
  expect(counts).toEqual({ ok: 120, refused: 0 });
  expect(tookMs).toBeGreaterThanOrEqual(118 * 25);
});

test('the same load without the limit is refused, so the third party is strict', async () => {
  const { app, counts } = strictThirdParty();
  await using thirdParty = await serve(app);
  const send = async () => (await fetch(thirdParty.url)).text();
  await Promise.all(Array.from({ length: 120 }, send));
  expect(counts.refused).toBeGreaterThan(0);
});

test('a refusal is waited for, and its connection is let go though its body never ends', async () => {
  let [refused, closed] = [0, 0];
  const startMs = performance.now();
  await using thirdParty = await serve((_, response) => {
    if (performance.now() - startMs >= 1000) {
      response.end('fine');
      return;
    }
    refused++;
    response.on('close', () => closed++);
    response.writeHead(429, { 'retry-after': '1' });
    response.write('too much, too m');
  });
  const limits = tokenBucket({ capacity: 100, refill: 100, every: '1s' });
  const limiter = createLimiter({ policy: 'third-party', limits });
  const limited = limitFetch(fetch, { limiter });
  const texts = await Promise.all(Array.from({ length: 10 }, async () => (await limited(thirdParty.url)).text()));
  expect(texts).toEqual(Array.from({ length: 10 }, () => 'fine'));
  expect(refused).toBe(10);
  await until(() => closed === 10, { what: 'the end of the connections of refused requests' });
  await limiter.close();
});
