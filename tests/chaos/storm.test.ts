import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { monotonicUs } from '../cluster/monotonic.js';
import { startProxy } from '../support/proxy.js';
import { type Server, startServer } from '../support/servers.js';
import { sleep } from '../support/wait.js';
import { startWorkers } from '../support/workers.js';
import { clientNames } from './clients.js';
import type { Storm, StormArgs } from './storm-worker.js';

const PROCESSES = 8;
const DOWN_MS = 2000;
const WINDOW_MS = 100;

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

/** Most times that fall into one window of so many ms. */
function most(timesMs: readonly number[], windowMs: number): number {
  return Math.max(0, ...timesMs.map((from) => timesMs.filter((ms) => ms >= from && ms < from + windowMs).length));
}

describe.each(clientNames)('%s: many processes that lose a server together', (client) => {
  test('neither hammer it while it is away nor come back all at once', async () => {
    await using proxy = await startProxy(server);
    const args: StormArgs = { client, port: proxy.port };
    await using workers = startWorkers<Storm>(PROCESSES, new URL('./storm-worker.ts', import.meta.url), args);
    await workers.receive();
    const attempts: number[] = [];
    // Taken and reset, as by a server that restarts: each attempt to connect is seen.
    proxy.onConnection = (socket) => {
      attempts.push(monotonicUs() / 1000);
      socket.resetAndDestroy();
    };
    proxy.reset();
    workers.send('away');
    const lostMs = monotonicUs() / 1000;
    await sleep(DOWN_MS);
    proxy.onConnection = undefined;
    const backMs = monotonicUs() / 1000;
    const results = await workers.results();
    const afters = results.map(({ backAtUs }) => backAtUs / 1000 - backMs).sort((a, b) => a - b);
    const late = attempts.filter((ms) => ms > lostMs + 500);
    console.log(
      `${client}: ${late.length} attempts in ${(backMs - lostMs - 500).toFixed(0)} ms, ` +
        `at most ${most(late, WINDOW_MS)} in ${WINDOW_MS} ms; ` +
        `back after ${afters.map((ms) => ms.toFixed(0)).join(' ')} ms`,
    );
    // Each process tries at most every 250 ms once its waits have grown.
    expect(late.length).toBeLessThanOrEqual(PROCESSES * ((backMs - lostMs - 500) / 250 + 2));
    expect(most(late, WINDOW_MS)).toBeLessThanOrEqual(PROCESSES);
    // The longest pauses of reconnecting and of the breaker, one after the other, and a busy machine.
    expect(Math.max(...afters)).toBeLessThan(1300);
    // Not together: they spread over more than one window of a tenth of a second.
    expect((afters.at(-1) ?? 0) - (afters[0] ?? 0)).toBeGreaterThan(WINDOW_MS);
  });
});
