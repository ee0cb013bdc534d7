import { createLimiter, type Limiter, type Store, slidingWindow } from 'comporta';
import { redisStore } from 'comporta/redis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Server, startServer } from '../support/servers.js';

let server: Server;
let store: Store;
let limiter: Limiter;
let heard: string[];
beforeEach(async () => {
  server = await startServer();
  store = redisStore(server.url);
  await store.ready(5000);
  // Long, so that a busy machine is not taken for a silent store.
  const limits = slidingWindow({ limit: 100, window: '1h' });
  limiter = createLimiter({ policy: 'p', limits, store, timeoutMs: 2000 });
  heard = [];
  limiter.on('config', ({ policy, node, degraded }) => heard.push(`config ${policy} ${node} ${degraded.detail}`));
  limiter.on('degraded', ({ degraded }) => heard.push(`degraded ${degraded.cause}`));
  limiter.on('recovered', () => heard.push('recovered'));
  limiter.on('breaker', ({ state }) => heard.push(`breaker ${state}`));
});
afterEach(async () => {
  await limiter.close();
  await store.close();
  await server.stop();
});

const cause = async (subject: string) => (await limiter.consume(subject)).degraded?.cause;

test('a foreign type under our name is told once, and neither the node nor other subjects suffer', async () => {
  await limiter.consume('bad');
  const [key] = (await server.command('KEYS', '*{bad}*')) as string[];
  await server.command('DEL', key ?? '');
  await server.command('SET', key ?? '', 'not ours');
  for (let i = 0; i < 30; i++) {
    expect(await cause('bad')).toBe('misconfigured');
    expect(await cause('good')).toBeUndefined();
  }
  expect(heard).toEqual([expect.stringMatching(/^config p redis WRONGTYPE/), 'degraded misconfigured']);
  expect(await server.command('GET', key ?? '')).toBe('not ours');
});

test('a missing right is told once, whatever the number of calls, and the breaker stays closed', async () => {
  await limiter.consume('s');
  await server.command('ACL', 'SETUSER', 'default', '-evalsha', '-eval');
  for (let i = 0; i < 30; i++) expect(await cause(`s${i}`)).toBe('misconfigured');
  expect(heard).toEqual([expect.stringMatching(/^config p redis NOPERM.*evalsha/), 'degraded misconfigured']);
  await server.command('ACL', 'SETUSER', 'default', '+evalsha', '+eval');
  expect(await cause('s')).toBeUndefined();
});

test('a right that only the script lacks is a complaint too, told beside the other', async () => {
  await limiter.consume('s');
  await server.command('ACL', 'SETUSER', 'default', '-time');
  expect(await cause('s')).toBe('misconfigured');
  await server.command('ACL', 'SETUSER', 'default', '+time', '-evalsha', '-eval');
  expect(await cause('s')).toBe('misconfigured');
  expect(heard.filter((line) => line.startsWith('config'))).toHaveLength(2);
  expect(heard.filter((line) => line.startsWith('breaker'))).toEqual([]);
});
