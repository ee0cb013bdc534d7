import { expect, test } from 'vitest';
import { startProxy } from '../support/proxy.js';
import { startServer } from '../support/servers.js';
import { startWorkers } from '../support/workers.js';
import type { Held, LongOutageArgs } from './long-outage-worker.js';

const start = (args: LongOutageArgs) =>
  startWorkers<Held[]>(1, new URL('./long-outage-worker.ts', import.meta.url), args);

const text = (seen: readonly Held[]): string =>
  seen.map(({ heapMb, handles }) => `${heapMb.toFixed(0)} MB ${handles}`).join(', ');

test('ten minutes of outage with a million subjects keep memory flat once it is full', async () => {
  await using workers = start({ kind: 'simulated', minutes: 10, perSecond: 3333 });
  const [seen = []] = await workers.results();
  console.log(`simulated: ${text(seen)}`);
  expect(seen.at(-1)?.decisions).toBe(1_998_000);
  const heaps = seen.map(({ heapMb }) => heapMb);
  // Two minutes fill every table, with 100 000 new subjects each; from then on nothing grows.
  expect(Math.max(...heaps.slice(2))).toBeLessThan((heaps[1] ?? 0) * 1.1 + 5);
  expect(Math.max(...heaps)).toBeLessThan(300);
}, 300_000);

test('seconds of a real one leave no handles and no memory behind', async () => {
  const server = await startServer();
  await using proxy = await startProxy(server);
  try {
    await using workers = start({ kind: 'real', port: proxy.port, seconds: 6 });
    await workers.receive();
    await proxy.down();
    workers.send('away');
    const [seen = []] = await workers.results();
    console.log(`real: ${text(seen)}, ${seen.at(-1)?.decisions} decisions`);
    const during = seen.slice(1);
    // One connection that is being made or waits to be, one timer of a call: the same in the end as at the start.
    expect(Math.max(...during.map(({ handles }) => handles))).toBeLessThanOrEqual(6);
    const heaps = during.map(({ heapMb }) => heapMb);
    expect(Math.max(...heaps.slice(3))).toBeLessThan(Math.max(...heaps.slice(0, 3)) * 1.1 + 5);
  } finally {
    await server.stop();
  }
});
