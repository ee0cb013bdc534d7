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
  const node: RedisNode = { address: 'redis', isReady: () => isReady, send: async () => 'answer' };
  const client: RedisClient = {
    isCluster: false,
    nodeOf: () => node,
    nodeAt: () => node,
    refresh: () => undefined,
    warnings: [],
    lastError: () => undefined,
    close: async () => undefined,
  };
  const runner = new ScriptRunner(client, clock);
  const store = { shardOf: () => 'redis' } as unknown as PolicyStore;
  const asker = new Asker(store, healthOf({} as Store, clock), clock, 50);
  const ask = async (): Promise<string> =>
    asker.ask({
      subject: 's',
      signal: undefined,
      timeoutMs: undefined,
      start: (waiter) => runner.run({ ...call, waiter }, String),
      onValue: (value) => value,
      onError: (error) => (error as { kind: string }).kind,
    });
  const connect = (ready: boolean): void => {
    isReady = ready;
  };
  return { clock, ask, connect };
}

test('calls before the first connection open no breaker, so the store decides as soon as it is there', async () => {
  const { ask, connect } = starting();
  for (let i = 0; i < 20; i++) expect(await ask()).toBe('unavailable');
  connect(true);
  expect(await ask()).toBe('answer');
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
