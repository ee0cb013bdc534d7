import { createLimiter, memoryStore, slidingWindow } from 'comporta';
import { redisStore } from 'comporta/redis';
import { faultyStore } from 'comporta/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apps } from '../cluster/drop-in-apps.js';
import { freePort } from '../support/ports.js';
import { type Server, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';

let server: Server;
let store: ReturnType<typeof redisStore>;
beforeAll(async () => {
  server = await startServer();
  store = redisStore(server.url);
  await store.ready(30_000);
});
afterAll(async () => {
  await store?.close();
  await server?.stop();
});

const LIMITS = { limit: 5, windowMs: 60_000 };

const ask = (url: string, client = 'a'): Promise<Response> => fetch(url, { headers: { 'x-client': client } });

async function statuses(url: string, times: number, client = 'a'): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < times; i++) {
    const response = await ask(url, client);
    await response.arrayBuffer();
    all.push(response.status);
  }
  return all;
}

/** Whichever header a project says it in. */
const remainingOf = ({ headers }: Response): number =>
  Number(
    headers.get('x-ratelimit-remaining') ??
      headers.get('ratelimit-remaining') ??
      /remaining=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1],
  );

describe.each(Object.entries(apps))('%s on Redis', (project, start) => {
  const name = project.replaceAll(/\W/g, '-');

  test('admits the limit, refuses the next with 429, and says when to come back', async () => {
    await using app = await start({ store, name: `${name}.basic` }, LIMITS);
    const first = await ask(app.url);
    expect([first.status, remainingOf(first)]).toEqual([200, 4]);
    expect(await statuses(app.url, 4)).toEqual([200, 200, 200, 200]);
    const refused = await ask(app.url);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(58);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    expect((await ask(app.url, 'b')).status).toBe(200);
  });

  test('many at once are admitted exactly up to the limit', async () => {
    await using app = await start({ store, name: `${name}.burst`, timeoutMs: 5000 }, LIMITS);
    const answers = await Promise.all(Array.from({ length: 30 }, () => ask(app.url)));
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array.from({ length: 5 }, () => 200),
      ...Array.from({ length: 25 }, () => 429),
    ]);
  });

  test('the window slides: in no stretch of its length do more than the limit pass', async () => {
    const windowMs = 1000;
    await using app = await start({ store, name: `${name}.slides`, timeoutMs: 5000 }, { limit: 5, windowMs });
    const admitted: { readonly sentMs: number; readonly heardMs: number }[] = [];
    const began = performance.now();
    while (performance.now() - began < 2.4 * windowMs) {
      const sentMs = performance.now();
      const response = await ask(app.url);
      await response.arrayBuffer();
      if (response.status === 200) admitted.push({ sentMs, heardMs: performance.now() });
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
    expect(admitted.length).toBeGreaterThanOrEqual(10);
    // Each was counted after it was sent and before it was heard of; clocks are read to the millisecond.
    admitted.slice(5).forEach(({ heardMs }, i) => {
      expect(heardMs - (admitted[i]?.sentMs ?? 0)).toBeGreaterThan(windowMs - 2);
    });
  });

  test('closed answers 503 while the store is away, open and local answer the request', async () => {
    const seen: unknown[] = [];
    for (const onStoreFailure of ['closed', 'open', 'local'] as const) {
      const faulty = faultyStore();
      await using app = await start({ store: faulty, name: 'api', onStoreFailure, onEvent: () => undefined }, LIMITS);
      expect(await statuses(app.url, 1)).toEqual([200]);
      faulty.down();
      seen.push([onStoreFailure, ...(await statuses(app.url, 6))]);
      faulty.up();
    }
    expect(seen).toEqual([
      ['closed', 503, 503, 503, 503, 503, 503],
      ['open', 200, 200, 200, 200, 200, 200],
      ['local', 200, 200, 200, 200, 429, 429],
    ]);
  });

  test('an application that starts without Redis limits as soon as there is one', async () => {
    const port = await freePort();
    const late = redisStore(`redis://127.0.0.1:${port}`, { onWarning: () => undefined });
    const given = { store: late, name: 'api', onStoreFailure: 'closed', onEvent: () => undefined } as const;
    await using app = await start(given, LIMITS);
    expect(await statuses(app.url, 2)).toEqual([503, 503]);
    await using _ = await startServer({ port });
    const upAtMs = performance.now();
    await until(async () => (await statuses(app.url, 1))[0] === 200, { everyMs: 20, what: 'a decision of the store' });
    expect(performance.now() - upAtMs).toBeLessThan(2000);
    expect(await statuses(app.url, 5)).toEqual([200, 200, 200, 200, 429]);
    await late.close();
  });

  test('its text in mode closed names no host', async () => {
    const away = redisStore('redis://127.0.0.1:1', { onWarning: () => undefined });
    await using app = await start(
      { store: away, name: 'api', onStoreFailure: 'closed', onEvent: () => undefined },
      LIMITS,
    );
    const response = await ask(app.url);
    expect(response.status).toBe(503);
    expect(await response.text()).not.toMatch(/127\.0\.0\.1|ECONNREFUSED/);
    await away.close();
  });
});

test('a limiter of ours decides by the counts of a middleware', async () => {
  const shared = memoryStore();
  const start = apps['express-rate-limit'] as (typeof apps)[string];
  await using app = await start({ store: shared, name: 'api' }, LIMITS);
  await statuses(app.url, 5);
  const limits = slidingWindow({ limit: 5, window: '1m', id: '60000ms' });
  const limiter = createLimiter({ policy: 'api', limits, store: shared });
  expect((await limiter.consume('a')).allowed).toBe(false);
});
