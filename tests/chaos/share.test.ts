import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Server, startServer } from '../support/servers.js';
import { startWorkers } from '../support/workers.js';
import type { ShareArgs, ShareResult } from './share-worker.js';

const LIMIT = 100;
const PROCESSES = 4;

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

/** What each process admits of one subject while Redis is gone. */
async function admittedWithoutRedis(instances: ShareArgs['instances']): Promise<number[]> {
  if (!server.running) await server.start();
  const args: ShareArgs = { url: server.url, limit: LIMIT, processes: PROCESSES, instances };
  const workers = startWorkers<ShareResult>(PROCESSES, new URL('./share-worker.ts', import.meta.url), args);
  try {
    await workers.receive();
    await server.kill();
    workers.send('go');
    const results = await workers.results();
    expect(results.map(({ byStore }) => byStore)).toEqual([0, 0, 0, 0]);
    return results.map(({ admitted }) => admitted);
  } finally {
    await workers.stop();
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b);

test('four processes that found one another share the limit while Redis is away', async () => {
  const admitted = await admittedWithoutRedis('auto');
  expect(sum(admitted)).toBe(LIMIT);
  expect(admitted).toEqual([25, 25, 25, 25]);
});

test('so they do when they are told how many they are', async () => {
  expect(await admittedWithoutRedis(4)).toEqual([25, 25, 25, 25]);
});

test('the check can fail: told that each is alone, together they admit four times the limit', async () => {
  expect(sum(await admittedWithoutRedis(1))).toBe(LIMIT * PROCESSES);
});
