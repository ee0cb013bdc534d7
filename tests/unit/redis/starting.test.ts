import { expect, test } from 'vitest';
import type { RedisClient, RedisNode } from '../../../packages/comporta/src/redis/client.js';
import { ScriptRunner } from '../../../packages/comporta/src/redis/run.js';
import { Asker } from '../../../packages/comporta/src/resilience/asker.js';
import { healthOf } from '../../../packages/comporta/src/resilience/health.js';
import type { PolicyStore, Store } from '../../../packages/comporta/src/stores/store.js';
import { FakeClock } from '../../support/fake-clock.js';

const script = { text: '', sha: 'sha' };
const call = { script, slot: 0, command: ['EVALSHA', 'sha', '0'], waiter: undefined };

function starting() {
  const clock = new FakeClock();
  let isReady = false;
  let sent = 0;
  let fault: string | undefined;
  const send = async (): Promise<string> => {
    sent++;
    return 'answer';
  };
  const node: RedisNode = { address: 'redis', isReady: () => isReady, send };
  const client: RedisClient = {
    isCluster: false,
    nodeOf: () => node,
    nodeAt: () => node,
    refresh: () => undefined,
    warnings: [],
    lastError: () => fault,
    close: async () => undefined,
  };
  const runner = new ScriptRunner(client, clock);
  const store = { shardOf: () => 'redis' } as unknown as PolicyStore;
  const asker = new Asker(store, healthOf({} as Store, clock), clock, 50);
  const ask = async (timeoutMs?: number): Promise<string> =>
    asker.ask({
      subject: 's',
      signal: undefined,
      timeoutMs,
      start: (waiter) => runner.run({ ...call, waiter }, String),
      onValue: (value) => value,
      onError: (error) => (error as { kind: string }).kind,
    });
  const connect = (ready: boolean): void => {
    isReady = ready;
  };
  const fail = (message: string): void => {
    fault = message;
  };
  return { clock, ask, connect, fail, sent: () => sent };
}

test('calls before the first connection wait for it, and are then decided by the store', async () => {
  const { clock, ask, connect } = starting();
  const asked = Promise.all([ask(), ask(), ask()]);
  await clock.pass(20);
  connect(true);
  await clock.pass(2);
  expect(await asked).toEqual(['answer', 'answer', 'answer']);
  expect(clock.timers).toBe(0);
});

test('a connection that does not come costs one time limit and opens no breaker', async () => {
  const { clock, ask, connect } = starting();
  const first = ask();
  await clock.pass(44);
  connect(false);
  await clock.pass(2);
  expect(await first).toBe('unavailable');
  for (let i = 0; i < 20; i++) expect(await ask()).toBe('unavailable');
  connect(true);
  expect(await ask()).toBe('answer');
});

test('nobody waits where it is known why there is no connection', async () => {
  const { ask, fail } = starting();
  fail('connect ECONNREFUSED');
  for (let i = 0; i < 20; i++) expect(await ask()).toBe('unavailable');
});

test('what waits for longer than its time limit is never sent', async () => {
  const { clock, ask, connect, sent } = starting();
  const asked = ask(3);
  await clock.pass(10);
  connect(true);
  await clock.pass(10);
  expect([await asked, sent()]).toEqual(['unavailable', 0]);
});

test('a server that is lost soon after the start is a failure like any other', async () => {
  const { ask, connect } = starting();
  connect(true);
  expect(await ask()).toBe('answer');
  connect(false);
  for (let i = 0; i < 3; i++) expect(await ask()).toBe('unavailable');
  expect(await ask()).toBe('breaker-open');
});

test('a server that is not there a second after the start is a failure too', async () => {
  const { clock, ask } = starting();
  await clock.pass(1000);
  for (let i = 0; i < 3; i++) {
    expect(await ask()).toBe('unavailable');
    await clock.pass(1);
  }
  expect(await ask()).toBe('breaker-open');
});
