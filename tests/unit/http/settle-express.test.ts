import { once } from 'node:events';
import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { type ComportaError, fixedWindow, memoryStore, type Store } from 'comporta';
import { type RateLimitOptions, rateLimit } from 'comporta/express';
import type { Outcome } from 'comporta/http';
import express, { type Request } from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../support/wait.js';
import { send, serve } from './serve.js';

const limits = fixedWindow({ limit: 100, window: '1d', align: 'first-hit' });

/** An application whose answers the path chooses, with what its limiter has counted. */
async function setUp(options: Partial<RateLimitOptions<Request>>) {
  const errors: ComportaError[] = [];
  const all = { limits, store: memoryStore(), onError: (error: ComportaError) => errors.push(error), ...options };
  const limiter = rateLimit<Request>(all as RateLimitOptions<Request>);
  const app = express().use(limiter);
  const reached: ServerResponse[] = [];
  app.use((_, response, next) => {
    reached.push(response);
    next();
  });
  app.get('/status/:status', (incoming, response) => void response.status(Number(incoming.params.status)).send('x'));
  app.get('/throw', () => {
    throw Object.assign(new Error('broken'), { status: 500, expose: false });
  });
  app.get('/part', (_, response) => void response.write('part'));
  app.get('/large', (_, response) => void response.send(Buffer.alloc(64_000_000)));
  app.get('/never', () => undefined);
  app.use((_error: unknown, _: unknown, response: ServerResponse, _next: unknown) => {
    response.statusCode = 500;
    response.end();
  });
  const port = await serve(app);
  const used = async (): Promise<number> => {
    const [, limiterOf] = [...limiter.gate.limiters][0] ?? [];
    const decision = await limiterOf?.peek('ip=127.0.0.1');
    return 100 - (decision?.limits[0]?.remaining ?? Number.NaN);
  };
  return { port, used, errors, reached, limiter };
}

/** Asks and goes away when the handler was reached. */
async function leave(port: number, path: string, reached: readonly unknown[]): Promise<void> {
  const before = reached.length;
  const sent = request({ host: '127.0.0.1', port, path, agent: false }).on('error', () => undefined);
  sent.on('response', (response) => response.pause()).end();
  await until(() => reached.length > before, { what: 'the handler' });
  sent.destroy();
}

test('with count: failures only requests that fail stay charged', async () => {
  const { port, used } = await setUp({ count: 'failures' });
  for (const status of [200, 204, 301, 304, 399]) await send(port, `/status/${status}`);
  await until(async () => (await used()) === 0, { what: 'everything given back' });
  for (const status of [400, 404, 429, 500, 599]) await send(port, `/status/${status}`);
  await send(port, '/throw');
  expect(await used()).toBe(6);
});

test('with count: successes only requests that succeed stay charged', async () => {
  const { port, used } = await setUp({ count: 'successes' });
  for (const status of [400, 404, 500]) await send(port, `/status/${status}`);
  await send(port, '/throw');
  await until(async () => (await used()) === 0, { what: 'failures given back' });
  for (const status of [200, 204, 301]) await send(port, `/status/${status}`);
  expect(await used()).toBe(3);
});

test.each([
  ['before the answer', '/never'],
  ['inside the answer', '/part'],
  ['before it has read all of the answer', '/large'],
])('a client that goes away %s is a failure', async (_, path) => {
  const failures = await setUp({ count: 'failures' });
  await leave(failures.port, path, failures.reached);
  const successes = await setUp({ count: 'successes' });
  await leave(successes.port, path, successes.reached);
  await until(async () => (await successes.used()) === 0, { what: 'the charge given back' });
  expect(await failures.used()).toBe(1);
});

test('a function says the final cost: less is given back, more is charged', async () => {
  const seen: (Outcome & { readonly cost: number })[] = [];
  const { port, used, limiter } = await setUp({
    cost: 5,
    count: (outcome, { request }) => {
      seen.push(outcome);
      return Number(request.headers['x-final']);
    },
  });
  const finals = [0, 3, 5, 12];
  for (const final of finals) await send(port, '/status/200', { headers: { 'x-final': `${final}` } });
  await limiter.gate.close().catch(() => undefined);
  expect(seen).toEqual(finals.map(() => ({ status: 200, aborted: false, cost: 5 })));
  await expect(used()).rejects.toThrow('closed');
});

test('the final costs add up', async () => {
  const { port, used } = await setUp({ cost: 5, count: (_, { request }) => Number(request.headers['x-final']) });
  for (const final of [0, 3, 5, 12]) await send(port, '/status/200', { headers: { 'x-final': `${final}` } });
  await until(async () => (await used()) === 20, { what: 'the sum of the final costs' });
});

test('a look that costs nothing can be charged afterwards: only failed logins count', async () => {
  const { port, used } = await setUp({ cost: 0, count: ({ status }) => (status === 401 ? 1 : 0) });
  for (const status of [200, 401, 200, 401, 404]) await send(port, `/status/${status}`);
  await until(async () => (await used()) === 2, { what: 'two failed logins' });
});

test.each([
  [
    'throws',
    () => {
      throw new Error('no rule');
    },
    'the function failed: no rule; the request stays at 1',
  ],
  ['returns a fraction', () => 0.5, 'expected a whole number from 0'],
  ['returns a promise', () => Promise.resolve(0) as never, 'expected a whole number from 0'],
])('a count function that %s is reported, and the charge stays', async (_, count, message) => {
  const { port, used, errors } = await setUp({ count });
  await send(port, '/status/200');
  await until(() => errors.length === 1, { what: 'the report' });
  expect(errors[0]).toMatchObject({ code: 'ERR_COST', field: 'policies[0].count' });
  expect(errors[0]?.message).toContain(message);
  expect(await used()).toBe(1);
});

test('requests that follow each other on one connection are each settled once', async () => {
  const { port, used } = await setUp({ count: 'failures' });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const sockets = new Set();
  for (let i = 0; i < 10; i++) {
    const sent = request({ host: '127.0.0.1', port, path: `/status/${i % 2 === 0 ? 200 : 404}`, agent }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    sockets.add(sent.socket);
    await once(response.resume(), 'end');
  }
  expect(sockets.size).toBe(1);
  await until(async () => (await used()) === 5, { what: 'the five failures' });
});

test('requests sent without waiting, whose connection breaks, are all settled', async () => {
  const { port, used, reached } = await setUp({ count: 'successes' });
  const client = connect(port, '127.0.0.1').on('error', () => undefined);
  // The first is never answered, so the others wait behind it, although theirs have ended.
  client.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1));
  client.write('GET /status/200 HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20));
  await until(() => reached.length === 21, { what: 'all handlers' });
  expect(await used()).toBe(21);
  client.destroy();
  await until(async () => (await used()) === 0, { what: 'everything given back' });
});

test('a refused request costs nothing, whatever its status', async () => {
  const { port, used } = await setUp({ count: 'failures', cost: 60 });
  expect((await send(port, '/status/500')).status).toBe(500);
  expect((await send(port, '/status/500')).status).toBe(429);
  expect(await used()).toBe(60);
});

test('closing waits for what ended responses still give back', async () => {
  const memory = memoryStore();
  const steps: string[] = [];
  let goOn: () => void = () => undefined;
  const isReached = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const store: Store = {
    ...memory,
    bind: (plan) => {
      const inner = memory.bind(plan);
      return {
        consume: (subject, cost) => inner.consume(subject, cost),
        peek: (subject, cost) => inner.peek(subject, cost),
        refund: async (charge) => {
          steps.push('asked');
          await isReached;
          steps.push('given back');
          return inner.refund(charge);
        },
        reset: (subject) => inner.reset(subject),
      };
    },
  };
  const { port, limiter } = await setUp({ count: 'failures', store, timeoutMs: 60_000 });
  await send(port, '/status/200');
  await until(() => steps.length === 1, { what: 'the request to give back' });
  const closed = limiter.close().then(() => steps.push('closed'));
  setImmediate(goOn);
  await closed;
  expect(steps).toEqual(['asked', 'given back', 'closed']);
});

test('lists stand beside the fields of the only policy too', async () => {
  const denying = await setUp({ deny: ['127.0.0.0/8'] });
  const { status, body } = await send(denying.port, '/status/200');
  expect([status, JSON.parse(body).title]).toEqual([403, 'Forbidden']);
  expect(denying.reached).toEqual([]);
  const allowing = await setUp({ key: 'header:x-key', allow: { subjects: ['friend'] } });
  const { headers } = await send(allowing.port, '/status/200', { headers: { 'x-key': 'friend' } });
  expect(headers).not.toHaveProperty('ratelimit');
});
