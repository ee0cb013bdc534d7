import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Connection } from './connection.js';
import { type FaultProxy, startProxy } from './proxy.js';
import { type Server, startServer } from './servers.js';
import { until } from './wait.js';

let server: Server;
let proxy: FaultProxy;
let client: Connection;

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  await server.command('FLUSHALL');
  proxy = await startProxy(server);
  client = await Connection.open(proxy.port);
});
afterEach(async () => {
  client.close();
  await proxy.close();
});

const settled = (promise: Promise<unknown>, withinMs: number): Promise<boolean> =>
  Promise.race([
    promise.then(
      () => true,
      () => true,
    ),
    new Promise<boolean>((resolve) => setTimeout(resolve, withinMs, false)),
  ]);

test('without faults the proxy changes nothing and notes every command', async () => {
  const before = process.hrtime.bigint();
  await Promise.all([client.command('SET', 'k', 'v'), client.command('get', 'k')]);
  expect(proxy.seen).toMatchObject([
    { name: 'SET', args: ['k', 'v'], connection: 1 },
    { name: 'GET', args: ['k'], connection: 1 },
  ]);
  expect(proxy.since(before)).toHaveLength(2);
  expect(proxy.since(process.hrtime.bigint())).toHaveLength(0);
  expect(proxy.count('get')).toBe(1);
});

test('large replies come through whole', async () => {
  await server.command('SET', 'big', Buffer.alloc(5_000_000, 'x'));
  expect(String(await client.command('GET', 'big'))).toHaveLength(5_000_000);
});

test('held bytes are delivered when the network is back, in order', async () => {
  proxy.hold();
  const replies = Promise.all([client.command('INCR', 'n'), client.command('INCR', 'n')]);
  expect(await settled(replies, 50)).toBe(false);
  expect(await server.command('EXISTS', 'n')).toBe(0);
  expect(proxy.count('INCR')).toBe(2);
  await proxy.pass();
  expect(await replies).toEqual([1, 2]);
});

test('a black hole accepts connections and never answers; its connections break when it ends', async () => {
  proxy.blackhole();
  const late = await Connection.open(proxy.port);
  const pings = [client.command('INCR', 'n'), late.command('INCR', 'n')];
  expect(await settled(Promise.race(pings), 50)).toBe(false);
  await proxy.pass();
  for (const ping of pings) await expect(ping).rejects.toThrow();
  expect(await server.command('EXISTS', 'n')).toBe(0);
});

test('what is not read is neither noted nor delivered until the proxy reads again', async () => {
  proxy.ignore();
  const ping = client.command('PING');
  expect(await settled(ping, 50)).toBe(false);
  expect(proxy.seen).toHaveLength(0);
  await proxy.pass();
  expect(await ping).toBe('PONG');
});

test('with replies lost, the server has done the work', async () => {
  proxy.dropReplies();
  const increment = client.command('INCR', 'n');
  await until(async () => (await server.command('GET', 'n')) === '1');
  expect(await settled(increment, 30)).toBe(false);
  await proxy.pass();
  await expect(increment).rejects.toThrow();
});

test('a delay is added in each direction', async () => {
  proxy.delay(40);
  const startMs = performance.now();
  await client.command('PING');
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(79);
});

test('refusing keeps open connections, and going down breaks them', async () => {
  await proxy.refuse();
  await expect(Connection.open(proxy.port)).rejects.toThrow('ECONNREFUSED');
  expect(await client.command('PING')).toBe('PONG');
  await proxy.down();
  await expect(client.command('PING')).rejects.toThrow();
  await proxy.pass();
  const again = await Connection.open(proxy.port);
  expect(await again.command('PING')).toBe('PONG');
  again.close();
});

test('a reset reaches the client as ECONNRESET', async () => {
  proxy.hold();
  const ping = client.command('PING');
  await until(() => proxy.count('PING') === 1);
  proxy.reset();
  await expect(ping).rejects.toThrow('ECONNRESET');
});

test('a reply can be cut in its middle', async () => {
  await server.command('SET', 'k', 'v'.repeat(100));
  proxy.cutAfter(50);
  await expect(client.command('GET', 'k')).rejects.toThrow();
  expect(proxy.count('GET')).toBe(1);
});

test('a server that is gone breaks the connections through the proxy', async () => {
  const own = await startServer();
  const front = await startProxy(own);
  const through = await Connection.open(front.port);
  expect(await through.command('PING')).toBe('PONG');
  await own.stop();
  await until(() => through.closed);
  await front.close();
});
