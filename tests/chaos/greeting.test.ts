import { once } from 'node:events';
import { createLimiter, type Store, tokenBucket } from 'comporta';
import { type IoredisLike, ioredisPreset, type NodeRedisLike, nodeRedisPreset, redisStore } from 'comporta/redis';
import { Redis as Ioredis6 } from 'ioredis';
import { Redis as Ioredis5 } from 'ioredis5';
import { Redis as Iovalkey } from 'iovalkey';
import * as redis6 from 'redis';
import * as redis5 from 'redis5';
import { afterEach, expect, test } from 'vitest';
import { type Box, startBox } from '../support/box.js';
import { startSentinels } from '../support/sentinels.js';
import { installedKinds, type Server, startServer } from '../support/servers.js';
import { sleep, until } from '../support/wait.js';
import { clientNames, open } from './matrix/clients.js';
import { PRIMARY_NAME } from './matrix/ground.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Longer than a connection may take that is being made: then it is begun anew. */
const SWALLOWED_MS = 4500;
const AGAIN_MS = 5000;

/** Takes connections and says nothing on them. */
async function swallowing(server: { readonly port: number }): Promise<Box> {
  const box = await startBox(server.port);
  cleanups.push(() => box.close());
  box.fate = 'swallow';
  return box;
}

async function start(args: readonly string[] = []): Promise<Server> {
  const server = await startServer({ args });
  cleanups.push(() => server.stop());
  return server;
}

function deciderOn(store: Store): () => Promise<boolean> {
  const limits = tokenBucket({ capacity: 1_000_000, refill: 1, every: '1s' });
  const limiter = createLimiter({ policy: 'greeting', limits, store });
  cleanups.push(async () => {
    await limiter.close();
    await store.close();
  });
  return async () => (await limiter.consume('a')).degraded === undefined;
}

/** Asks all the time, as traffic does. */
async function asking(decides: () => Promise<boolean>, ms: number): Promise<void> {
  for (const endMs = performance.now() + ms; performance.now() < endMs; await sleep(10)) await decides();
}

test('a greeting that is swallowed is begun anew, on one connection at a time', async () => {
  const server = await start();
  const tried = clientNames.map(async (client) => {
    const box = await swallowing(server);
    const { store, end } = await open(client, { topology: 'single', ports: [box.port], natMap: {} });
    const decides = deciderOn(store);
    let most = 0;
    const timer = setInterval(() => {
      most = Math.max(most, box.open);
    }, 5);
    await asking(decides, SWALLOWED_MS);
    clearInterval(timer);
    box.fate = 'pass';
    await until(decides, { timeoutMs: AGAIN_MS, everyMs: 5, what: `${client}: a decision` });
    const open_ = box.open;
    await store.close();
    await end();
    await until(() => box.open === 0, { timeoutMs: 2000, what: `${client}: the end of all connections` });
    return { client, most: Math.max(1, most), open: open_ };
  });
  expect(await Promise.all(tried)).toEqual(clientNames.map((client) => ({ client, most: 1, open: 1 })));
});

const nodeRedisKinds: readonly (readonly [string, typeof redis6.createClient])[] = [
  ['node-redis 6', redis6.createClient],
  ['node-redis 5', redis5.createClient as unknown as typeof redis6.createClient],
];
const ioredisKinds: readonly (readonly [string, new (options: IoredisOptions) => IoredisLike])[] = [
  ['ioredis 6', Ioredis6],
  ['ioredis 5', Ioredis5],
  ['iovalkey', Iovalkey],
];
type IoredisPreset = typeof ioredisPreset;
interface IoredisOptions extends IoredisPreset {
  readonly host: string;
  readonly port: number;
  readonly enableReadyCheck: false;
}

test.each(nodeRedisKinds)('%s that is given in the middle of a swallowed greeting is begun anew', async (_, create) => {
  const box = await swallowing(await start());
  const client = create({ url: `redis://127.0.0.1:${box.port}`, ...nodeRedisPreset });
  client.on('error', () => undefined);
  client.connect().catch(() => undefined);
  await once(client, 'connect');
  const decides = deciderOn(redisStore(client as unknown as NodeRedisLike));
  cleanups.push(() => client.destroy());
  box.fate = 'pass';
  await until(decides, { timeoutMs: AGAIN_MS, everyMs: 5, what: 'a decision' });
  expect(box.open).toBe(1);
});

// Version 5 of ioredis then calls a connection ready that has ended.
test.each(ioredisKinds)('%s without a ready check goes on after greetings that were cut short', async (_, Client) => {
  const box = await swallowing(await start());
  box.fate = 'end';
  const client = new Client({ host: '127.0.0.1', port: box.port, ...ioredisPreset, enableReadyCheck: false });
  client.on('error', () => undefined);
  cleanups.push(() => client.disconnect());
  const decides = deciderOn(redisStore(client));
  await until(async () => !(await decides()) && box.taken > 2, { everyMs: 5 });
  box.fate = 'pass';
  await until(decides, { timeoutMs: AGAIN_MS, everyMs: 5, what: 'a decision' });
  expect(box.open).toBe(1);
});

test('Sentinels and a primary that swallow the first greeting are greeted anew', async () => {
  const [kind] = installedKinds();
  if (kind === undefined) throw new Error('no server is installed');
  const primary = await start();
  await start(['--replicaof', '127.0.0.1', String(primary.port), '--repl-diskless-sync-delay', '0']);
  const sentinels = await startSentinels(kind, primary, PRIMARY_NAME);
  cleanups.push(() => sentinels.stop());
  await sentinels.settled();
  const before = await swallowing(primary);
  const boxes = await Promise.all(sentinels.ports.map((port) => swallowing({ port })));
  const hosts = boxes.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const natMap = { [`127.0.0.1:${primary.port}`]: `127.0.0.1:${before.port}` };
  const decides = deciderOn(redisStore(`redis-sentinel://${hosts}/${PRIMARY_NAME}`, { natMap }));
  await until(() => boxes.every(({ taken }) => taken > 0));
  for (const box of boxes) box.fate = 'pass';
  await until(async () => !(await decides()) && before.taken > 0, { timeoutMs: AGAIN_MS, everyMs: 5 });
  before.fate = 'pass';
  await until(decides, { timeoutMs: AGAIN_MS, everyMs: 5, what: 'a decision' });
});
