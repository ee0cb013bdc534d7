import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Server, startServer } from './servers.js';
import { until } from './wait.js';
import { startWorkers } from './workers.js';

const adder = new URL('./fixtures/adder.ts', import.meta.url);
let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

test('workers talk both ways, share one clock and give results by index', async () => {
  const workers = startWorkers<{ startedNs: bigint; index: number }>(3, adder, { port: server.port, times: 50 });
  expect(await workers.receive()).toEqual([{ ready: 0 }, { ready: 1 }, { ready: 2 }]);
  expect(await server.command('EXISTS', 'n')).toBe(0);
  const beforeNs = process.hrtime.bigint();
  workers.send('go');
  const results = await workers.results();
  expect(results.map(({ index }) => index)).toEqual([0, 1, 2]);
  for (const { startedNs } of results) {
    expect(startedNs).toBeGreaterThan(beforeNs);
    expect(startedNs).toBeLessThan(process.hrtime.bigint());
  }
  expect(await server.command('GET', 'n')).toBe('150');
  await workers.stop();
});

test('a failure in a worker reaches the test with its words', async () => {
  const workers = startWorkers(2, adder, (index: number) => ({ port: server.port, times: 1, fail: index === 1 }));
  workers.send('go');
  await expect(workers.results()).rejects.toThrow('told to fail after "go"');
  await workers.stop();
});

test('a worker that is killed, or never starts, is noticed', async () => {
  const workers = startWorkers(1, adder, { port: server.port, times: 1 });
  await workers.receive();
  await workers.stop();
  await expect(workers.receive()).rejects.toThrow('SIGKILL');
  const absent = startWorkers(1, new URL('./fixtures/absent.ts', import.meta.url), {});
  await expect(absent.results()).rejects.toThrow(/without a result[\s\S]*absent\.ts/);
});

test('when a test process is killed, its servers and workers end too', async () => {
  const workers = startWorkers(1, new URL('./fixtures/holder.ts', import.meta.url), { port: server.port });
  const [held] = await workers.receive<{ pids: number[] }>();
  const alive = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  expect(held?.pids.map(alive)).toEqual([true, true]);
  await workers.stop();
  await until(() => !held?.pids.some(alive), { what: 'the end of all that the killed process had started' });
});
