import { expect, test } from 'vitest';
import { startServer } from '../support/servers.js';
import { startWorkers } from '../support/workers.js';
import type { Served, WaitArgs } from './wait-worker.js';

const PROCESSES = 4;
const WAITERS = 50;
const worker = new URL('./wait-worker.ts', import.meta.url);

/** Four processes, fifty waiters each, all for one subject of one Redis. */
async function compete(rule: WaitArgs['rule']): Promise<Served[][]> {
  await using server = await startServer();
  const args: WaitArgs = { url: server.url, rule, waiters: WAITERS, processes: PROCESSES };
  await using workers = startWorkers<Served[]>(PROCESSES, worker, args);
  await workers.receive();
  workers.send('go');
  return await workers.results();
}

/** Ms, by the server's clock, at which all were admitted, sorted. */
const timesOf = (served: readonly Served[][]): number[] =>
  served
    .flat()
    .map(({ atUs }) => atUs / 1000)
    .toSorted((a, b) => a - b);

function expectAllServedInOrder(served: readonly Served[][]): void {
  for (const each of served) {
    expect(each.map(({ name }) => name)).toEqual(Array.from({ length: WAITERS }, (_, name) => name));
    expect(each.filter(({ allowed, degraded }) => !allowed || degraded !== undefined)).toEqual([]);
  }
}

test('processes that wait for one bucket get what it gives, all of it, and none is left out for long', async () => {
  const served = await compete('bucket');
  expectAllServedInOrder(served);
  const times = timesOf(served);
  // Capacity 5 and 50 a second hold over every interval; the bucket counts whole milliseconds.
  for (const [i, from] of times.entries()) {
    for (let j = i; j < times.length; j++) {
      expect(j - i + 1).toBeLessThanOrEqual(5 + Math.floor(((times[j] as number) - from + 1) / 20));
    }
  }
  const tookMs = (times.at(-1) as number) - (times[0] as number);
  expect(tookMs).toBeGreaterThanOrEqual(195 * 20 - 1);
  expect(tookMs).toBeLessThan(195 * 20 * 1.5);
  // One of four wins each token by chance: sixty lost in a row would be one start in thirty million.
  for (const each of served) {
    const own = each.map(({ atUs }) => atUs / 1000);
    const gaps = own.map((at, i) => at - (own[i - 1] ?? (times[0] as number)));
    expect(Math.max(...gaps)).toBeLessThan(60 * 20 * 1.5);
  }
});

test('processes that wait for one window never pass its limit in any window, and all are served', async () => {
  const served = await compete('window');
  expectAllServedInOrder(served);
  const times = timesOf(served);
  for (let i = 20; i < times.length; i++) {
    expect((times[i] as number) - (times[i - 20] as number)).toBeGreaterThanOrEqual(250);
  }
  expect((times.at(-1) as number) - (times[0] as number)).toBeLessThan(9 * 250 * 1.5 + 500);
});
