import { createLimiter, limitKinds } from 'comporta';
import { redisStore } from 'comporta/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Server, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';
import { startWorkers } from '../support/workers.js';
import type { ShareArgs, ShareResult } from './share-worker.js';

const LIMIT = 200;
const PROCESSES = 4;
/** What may pass above the limit: answers that a process has not heard, those of the others. */
const ABOVE = LIMIT / 10;
/** Calls of each process that the server may have got without an answer until the breaker opens. */
const UNHEARD = 5;

/** No charge for so long: all is paid back. */
const QUIET_MS = 1000;
const LOOK_EVERY_MS = 100;

/** Windows of a day, so that hardly any run sees one end. */
const SETTINGS: Readonly<Record<string, ShareArgs['settings']>> = {
  tokenBucket: { capacity: LIMIT, refill: LIMIT, every: '1d' },
  slidingWindow: { limit: LIMIT, window: '1d' },
  slidingWindowCounter: { limit: LIMIT, window: '1d' },
  fixedWindow: { limit: LIMIT, window: '1d' },
};

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

interface Outcome {
  readonly byStore: number;
  readonly locally: number;
  readonly each: readonly ShareResult[];
  /** What the store counts once all is paid back. */
  readonly used: number;
}

/** Freezes the server under the load of four processes, and thaws it when they have gone on without it. */
async function outage(kind: string, options: Partial<ShareArgs> = {}): Promise<Outcome> {
  await server.command('FLUSHALL');
  const settings = SETTINGS[kind] as ShareArgs['settings'];
  const common = { url: server.url, kind, settings, processes: PROCESSES, instances: 'auto', before: 20, during: 200 };
  const args = { ...common, ...options } as ShareArgs;
  const workers = startWorkers<ShareResult>(PROCESSES, new URL('./share-worker.ts', import.meta.url), args);
  try {
    await workers.receive();
    workers.send('go');
    await workers.receive();
    server.freeze();
    const each = await workers.receive<ShareResult>();
    server.thaw();
    workers.send('thawed');
    await workers.receive();
    const sum = (name: keyof ShareResult): number => each.reduce((total, result) => total + result[name], 0);
    const [byStore, locally] = [sum('byStore'), sum('locally')];
    const used = await usedOf(args, Math.min(LIMIT, byStore + locally) - PROCESSES * UNHEARD);
    workers.send('end');
    await workers.results();
    return { byStore, locally, each, used };
  } finally {
    if (!server.responsive) server.thaw();
    await workers.stop();
  }
}

/** What the store counts for the subject, when it is at least so much and nothing more comes. */
async function usedOf({ url, kind, settings }: ShareArgs, atLeast: number): Promise<number> {
  const store = redisStore(url);
  const limits = (limitKinds[kind] as (typeof limitKinds)[string]).build(settings);
  const limiter = createLimiter({ policy: 'p', limits, store, timeoutMs: 1000 });
  const used = async (): Promise<number> => LIMIT - ((await limiter.peek('hot')).binding?.remaining ?? LIMIT);
  let [last, times] = [-1, 0];
  const isSettled = async (): Promise<boolean> => {
    const now = await used();
    times = now === last ? times + 1 : 0;
    last = now;
    return now >= atLeast && times * LOOK_EVERY_MS >= QUIET_MS;
  };
  await until(isSettled, { everyMs: LOOK_EVERY_MS, what: `${atLeast} charges` });
  await limiter.close();
  await store.close();
  return last;
}

describe.each(Object.keys(SETTINGS))('%s', (kind) => {
  test('what passed before and during an outage keeps to the limit, and is charged afterwards', async () => {
    const { byStore, locally, each, used } = await outage(kind);
    expect(byStore).toBeGreaterThanOrEqual(20 * PROCESSES);
    expect(byStore + locally).toBeLessThanOrEqual(LIMIT + ABOVE);
    expect(byStore + locally).toBeGreaterThanOrEqual(LIMIT - ABOVE);
    expect(Math.min(...each.map((result) => result.locally))).toBeGreaterThan(0);
    expect(used).toBeLessThanOrEqual(LIMIT);
    expect(used).toBeGreaterThanOrEqual(Math.min(LIMIT, byStore + locally) - PROCESSES * UNHEARD);
  });
});

test('what was used before an outage is not charged again after it', async () => {
  const { byStore, locally, used } = await outage('slidingWindow', { during: 10 });
  expect(locally).toBe(10 * PROCESSES);
  expect(used).toBeLessThanOrEqual(byStore + locally + PROCESSES * UNHEARD);
});

test('processes that are told how many they are share the limit as well', async () => {
  const { byStore, locally } = await outage('slidingWindow', { instances: PROCESSES });
  expect(byStore + locally).toBeLessThanOrEqual(LIMIT + ABOVE);
});

test('the check can fail: told that each is alone, each admits all that was left', async () => {
  const { byStore, locally } = await outage('slidingWindow', { instances: 1 });
  expect(byStore + locally).toBeGreaterThan(LIMIT + 5 * ABOVE);
});
