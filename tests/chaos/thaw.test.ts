import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startProxy } from '../support/proxy.js';
import { type Server, startServer } from '../support/servers.js';
import { sleep } from '../support/wait.js';
import { startWorkers } from '../support/workers.js';
import { clientNames } from './clients.js';
import type { ThawArgs, Thawed } from './thaw-child.js';

const FROZEN_MS = 3000;
const HOUR_MS = 3_600_000;
const LIMIT_MS = 50;
const SLACK_MS = 10;

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

describe.each(clientNames)('%s: a process that is frozen while its connections die', (client) => {
  test.each([
    ['and wakes up at once', 0],
    ['and wakes up an hour later by its clock', HOUR_MS],
    ['and wakes up an hour earlier by its clock', -HOUR_MS],
  ])('%s decides in time from the first request on, and soon by the store', async (_, jumpMs) => {
    await using proxy = await startProxy(server);
    const args: ThawArgs = { client, port: proxy.port, jumpMs };
    await using workers = startWorkers<Thawed[]>(1, new URL('./thaw-child.ts', import.meta.url), args);
    const [worker] = workers.all;
    if (worker === undefined) throw new Error('no worker');
    await worker.receive();
    process.kill(worker.pid, 'SIGSTOP');
    proxy.blackhole();
    await sleep(FROZEN_MS / 2);
    proxy.reset();
    await proxy.pass();
    await sleep(FROZEN_MS / 2);
    worker.send('go on');
    process.kill(worker.pid, 'SIGCONT');
    const answers = await worker.result;
    const decidedAfter = answers.findIndex(({ degraded }) => degraded === undefined);
    console.log(
      `${client} ${jumpMs}: ${JSON.stringify(answers.slice(0, 4))}, the store decides number ${decidedAfter}`,
    );
    expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBeLessThan(LIMIT_MS + SLACK_MS);
    // Each degraded one is followed by a rest of 10 ms: a second in all.
    expect(decidedAfter).toBeGreaterThanOrEqual(0);
    expect(decidedAfter).toBeLessThan(100);
  });
});
