import http2 from 'node:http2';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { redisStore } from 'comporta/redis';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../support/ports.js';
import { startServer } from '../support/servers.js';
import { sleep } from '../support/wait.js';
import { makeFolder, runCommand } from './cli-support.js';
import { type Ask, configIn, connect, of, publish, startDoor } from './envoy-support.js';

const SHOP = 'domain: shop\ndescriptors: [{ key: user, rate_limit: { requests_per_unit: 1000000, unit: day } }]\n';
const REQUEST = { domain: 'shop', descriptors: of('user=a') };

/** Asks one after the other until it is told to stop; resolves to how many calls there were, and what failed. */
function startLoad(ask: Ask): () => Promise<{ readonly count: number; readonly failures: readonly string[] }> {
  let isOver = false;
  let count = 0;
  const failures: string[] = [];
  const load = async (): Promise<void> => {
    while (!isOver) {
      count++;
      await ask(REQUEST).catch((error) => failures.push(String(error)));
    }
  };
  const loads = Array.from({ length: 8 }, load);
  return async () => {
    isOver = true;
    await Promise.all(loads);
    return { count, failures };
  };
}

test('a rolling restart under load fails no call of a client that knows both instances', async () => {
  const redis = await startServer();
  onTestFinished(() => redis.stop());
  const folder = makeFolder();
  publish(join(folder, 'shop.yaml'), SHOP);
  const ports = [await freePort(), await freePort()];
  const start = async (port: number) => {
    const file = join(folder, `comporta-${port}.yaml`);
    const envoy = `{ listen: "127.0.0.1:${port}", config: shop.yaml, timeout: 2s, drainDelay: 0 }`;
    publish(file, `store: ${redis.url}\nenvoy: ${envoy}\n`);
    const service = runCommand(['serve', '-c', file]);
    await service.says('envoy rate limit service on');
    return service;
  };
  const services = await Promise.all(ports.map(start));
  const address = `ipv4:${ports.map((port) => `127.0.0.1:${port}`).join(',')}`;
  const config = JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] });
  const ask = connect(address, credentials.createInsecure(), {
    'grpc.service_config': config,
    'grpc.initial_reconnect_backoff_ms': 50,
    'grpc.max_reconnect_backoff_ms': 100,
  });
  await ask(REQUEST);
  const finish = startLoad(ask);
  for (const [i, port] of ports.entries()) {
    services[i]?.signal('SIGTERM');
    expect(await services[i]?.exit()).toBe(0);
    await start(port);
    // The client has to find it again before the other one goes.
    const isFound = connect(`127.0.0.1:${port}`);
    await isFound(REQUEST);
    await sleep(500);
  }
  const { count, failures } = await finish();
  expect(failures).toEqual([]);
  expect(count).toBeGreaterThan(500);
  const { statuses } = await ask({ domain: 'shop', descriptors: [{ ...of('user=a')[0], hits_addend: { value: 0 } }] });
  // The first one, those of the load, and one of each that looked whether an instance is there.
  expect(statuses[0]?.limit_remaining).toBe(1_000_000 - count - 3);
});

test('a call in flight is answered while the service drains', async () => {
  const redis = await startServer();
  onTestFinished(() => redis.stop());
  const store = redisStore(redis.url);
  onTestFinished(() => store.close());
  await store.ready(5000);
  const door = await startDoor(configIn(makeFolder(), [SHOP], { timeout: '500ms' }, { instances: 1 }), { store });
  await door.ask(REQUEST);
  await redis.freeze();
  const answer = door.ask(REQUEST);
  // Sent before the end begins.
  await sleep(50);
  const startMs = performance.now();
  await Promise.all([door.stop(), answer]);
  expect((await answer).dynamic_metadata?.fields.degraded?.stringValue).toBe('local');
  expect(performance.now() - startMs).toBeLessThan(5000);
});

test('a connection that is too old is ended politely, and no call fails', async () => {
  const config = configIn(makeFolder(), [SHOP], { maxConnectionAge: '1s', maxConnectionAgeGrace: '1s' });
  const door = await startDoor(config);
  const session = http2.connect(`http://${door.address}`);
  onTestFinished(() => session.destroy());
  const isTold = new Promise<number>((resolve) => session.once('goaway', resolve));
  const finish = startLoad(door.ask);
  expect(await isTold).toBe(http2.constants.NGHTTP2_NO_ERROR);
  await sleep(1500);
  const { count, failures } = await finish();
  expect(failures).toEqual([]);
  expect(count).toBeGreaterThan(100);
});
