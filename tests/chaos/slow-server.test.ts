import { createLimiter, slidingWindow } from 'comporta';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type FaultProxy, startProxy } from '../support/proxy.js';
import { type Server, startServer } from '../support/servers.js';
import { sleep } from '../support/wait.js';
import { clientNames, type Opened, openStore } from './clients.js';

let server: Server;
let proxy: FaultProxy;
let opened: Opened;
beforeEach(async () => {
  server = await startServer();
  proxy = await startProxy(server);
});
afterEach(async () => {
  await opened.close();
  await proxy.close();
  await server.stop();
});

const limits = slidingWindow({ limit: 1000, window: '1h' });

describe.each(clientNames)('%s', (client) => {
  test('a server that takes 800 ms serves who waits 3 s over one connection, while others degrade', async () => {
    opened = openStore(client, proxy.port);
    const { store } = opened;
    await store.ready(5000);
    const patient = createLimiter({ policy: 'patient', limits, store, timeoutMs: 3000 });
    const hasty = createLimiter({ policy: 'hasty', limits, store });
    await patient.consume('s');
    await hasty.consume('s');
    proxy.delay(400);
    proxy.forget();
    const state = { isOver: false };
    const waits: number[] = [];
    const hurry = async (): Promise<void> => {
      while (!state.isOver) {
        const startMs = performance.now();
        await hasty.consume('s');
        waits.push(performance.now() - startMs);
        await sleep(10);
      }
    };
    const hurrying = hurry();
    const decisions = [];
    // Each is asked while the one before is under way, so that there is always a call that waits.
    for (let i = 0; i < 8; i++) {
      decisions.push(patient.consume('s'));
      await sleep(300);
    }
    const causes = (await Promise.all(decisions)).map(({ degraded }) => degraded?.cause);
    state.isOver = true;
    await hurrying;
    expect(causes).toEqual(Array.from({ length: 8 }, () => undefined));
    expect(new Set(proxy.seen.map(({ connection }) => connection)).size).toBe(1);
    // The breaker of the short limit is open nearly all the time: most wait for nothing at all.
    expect(waits.filter((ms) => ms < 5).length).toBeGreaterThan(waits.length / 2);
    await hasty.close();
    await patient.close();
  });
});
