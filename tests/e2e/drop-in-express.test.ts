import { memoryStore } from 'comporta';
import { comportaStore } from 'comporta/express-rate-limit';
import { faultyStore } from 'comporta/testing';
import express, { type Express } from 'express';
import { type Options, rateLimit } from 'express-rate-limit';
import { expect, test } from 'vitest';
import { listenExpress } from '../cluster/drop-in-apps.js';
import { until } from '../support/wait.js';

/** What express-rate-limit complains of, collected. */
function listening() {
  const said: string[] = [];
  const say = (error: unknown): void => void said.push(String((error as { code?: string }).code ?? error));
  return { said, logger: { warn: say, error: say } };
}

function appWith(...options: readonly Partial<Options>[]): Express {
  const app = express();
  for (const each of options) app.use(rateLimit(each));
  app.get('/:status', (request, response) => void response.sendStatus(Number(request.params.status)));
  return app;
}

async function statuses(url: string, times: number): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < times; i++) {
    const response = await fetch(url);
    await response.arrayBuffer();
    all.push(response.status);
  }
  return all;
}

test('two limiters on one store, with every header, and none of its own checks complains', async () => {
  const { said, logger } = listening();
  const store = memoryStore();
  const of = (name: string): Partial<Options> => ({ store: comportaStore({ store, name }), logger });
  const app = appWith(
    { ...of('burst'), limit: 10, windowMs: 1000, standardHeaders: 'draft-8', legacyHeaders: false },
    { ...of('daily'), limit: 3, windowMs: 86_400_000, standardHeaders: 'draft-8' },
  );
  await using at = await listenExpress(app);
  const response = await fetch(`${at.url}/200`);
  expect(response.headers.get('ratelimit')).toBe('"10-in-1sec"; r=9; t=1, "3-in-1day"; r=2; t=86400');
  expect(response.headers.get('x-ratelimit-remaining')).toBe('2');
  expect(await statuses(`${at.url}/200`, 3)).toEqual([200, 200, 429]);
  expect(said).toEqual([]);
});

test('one store in two limiters, and one name twice in a request, are told by its checks', async () => {
  const { said, logger } = listening();
  const shared = comportaStore();
  const store = memoryStore();
  const twice = () => comportaStore({ store, name: 'api' });
  const app = appWith(
    { store: shared, logger },
    { store: shared, logger },
    { store: twice(), logger },
    { store: twice(), logger },
  );
  await using at = await listenExpress(app);
  await statuses(`${at.url}/200`, 1);
  expect(said).toContain('ERR_ERL_STORE_REUSE');
  expect(said.filter((code) => code === 'ERR_ERL_DOUBLE_COUNT')).toHaveLength(2);
});

test.each(['draft-6', 'draft-7', 'draft-8'] as const)('with %s a refusal says the exact second', async (version) => {
  const app = appWith({ store: comportaStore(), limit: 1, windowMs: 30_000, standardHeaders: version });
  await using at = await listenExpress(app);
  expect(await statuses(`${at.url}/200`, 1)).toEqual([200]);
  const { status, headers } = await fetch(`${at.url}/200`);
  expect([status, headers.get('retry-after')]).toEqual([429, '30']);
  const said = `${headers.get('ratelimit')} ${headers.get('ratelimit-reset')}`;
  expect(said).toContain('30');
});

test('a refused client that comes back when it was told to is admitted', async () => {
  const app = appWith({ store: comportaStore(), limit: 2, windowMs: 1500 });
  await using at = await listenExpress(app);
  expect(await statuses(`${at.url}/200`, 3)).toEqual([200, 200, 429]);
  const retryAfter = Number((await fetch(`${at.url}/200`)).headers.get('retry-after'));
  expect(retryAfter).toBe(2);
  await new Promise((resolve) => setTimeout(resolve, retryAfter * 1000));
  expect(await statuses(`${at.url}/200`, 1)).toEqual([200]);
});

test('with skipFailedRequests failed and refused requests stay uncounted', async () => {
  const store = comportaStore();
  const keyGenerator = (): string => 'a';
  const app = appWith({ store, limit: 3, windowMs: 60_000, skipFailedRequests: true, keyGenerator });
  await using at = await listenExpress(app);
  const used = async (): Promise<number> => (await store.get('a'))?.totalHits ?? 0;
  expect(await statuses(`${at.url}/500`, 10)).toEqual(Array.from({ length: 10 }, () => 500));
  await until(async () => (await used()) === 0, { what: 'ten hits given back' });
  expect(await statuses(`${at.url}/200`, 3)).toEqual([200, 200, 200]);
  // Were their decrements to give anything back, one of the later ones would pass.
  expect(await statuses(`${at.url}/200`, 20)).toEqual(Array.from({ length: 20 }, () => 429));
  expect(await used()).toBe(3);
});

test('with skipSuccessfulRequests only failures count, and refusals neither give back nor cost', async () => {
  const store = comportaStore();
  const keyGenerator = (): string => 'a';
  const app = appWith({ store, limit: 3, windowMs: 60_000, skipSuccessfulRequests: true, keyGenerator });
  await using at = await listenExpress(app);
  const used = async (): Promise<number> => (await store.get('a'))?.totalHits ?? 0;
  expect(await statuses(`${at.url}/200`, 10)).toEqual(Array.from({ length: 10 }, () => 200));
  await until(async () => (await used()) === 0, { what: 'ten hits given back' });
  expect(await statuses(`${at.url}/401`, 10)).toEqual([401, 401, 401, ...Array.from({ length: 7 }, () => 429)]);
  expect(await used()).toBe(3);
});

test('a limit that is a function of the request decides by what every hit was counted to', async () => {
  const limit = (request: express.Request): number => (request.headers['x-plan'] === 'pro' ? 4 : 2);
  const app = appWith({ store: comportaStore(), limit, windowMs: 60_000 });
  await using at = await listenExpress(app);
  expect(await statuses(`${at.url}/200`, 3)).toEqual([200, 200, 429]);
  const pro = await fetch(`${at.url}/200`, { headers: { 'x-plan': 'pro' } });
  expect([pro.status, pro.headers.get('x-ratelimit-remaining')]).toEqual([200, '0']);
});

test('passOnStoreError decides about a store that is closed', async () => {
  const { said, logger } = listening();
  const faulty = faultyStore();
  const store = comportaStore({ store: faulty, name: 'api', onStoreFailure: 'closed', onEvent: () => undefined });
  await using at = await listenExpress(appWith({ store, limit: 1, passOnStoreError: true, logger }));
  faulty.down();
  expect(await statuses(`${at.url}/200`, 2)).toEqual([200, 200]);
  expect(said).toEqual(['ERR_STORE', 'ERR_STORE']);
});

test('resetKey and getKey of the middleware reach the store', async () => {
  const limiter = rateLimit({ store: comportaStore(), limit: 1, windowMs: 60_000, keyGenerator: () => 'a' });
  const app = express().use(limiter);
  app.get('/', (_request, response) => void response.send('hello'));
  await using at = await listenExpress(app);
  expect(await statuses(at.url, 2)).toEqual([200, 429]);
  expect((await limiter.getKey('a'))?.totalHits).toBe(1);
  await limiter.resetKey('a');
  expect(await statuses(at.url, 1)).toEqual([200]);
});

test('a limit that cannot be, and a store for two that differ, are told at once and by every request', async () => {
  const shared = comportaStore();
  for (const [options, message] of [
    [[{ store: comportaStore(), limit: 2_000_000 }], 'slidingWindow.limit'],
    [[{ store: comportaStore(), windowMs: 1e15 }], 'slidingWindow.window'],
    [
      [
        { store: shared, limit: 5 },
        { store: shared, limit: 2 },
      ],
      'one store cannot serve limits that differ',
    ],
  ] as const) {
    const { said, logger } = listening();
    const app = appWith(...options.map((each) => ({ ...each, validate: false, logger })));
    app.use(((error, _request, response, _next) => {
      response.status(500).send(String(error.message));
    }) satisfies express.ErrorRequestHandler);
    expect(said).toEqual([expect.stringMatching(/^ERR_(LIMIT|OPTION)$/)]);
    await using at = await listenExpress(app);
    const response = await fetch(`${at.url}/200`);
    expect([response.status, await response.text()]).toEqual([500, expect.stringContaining(message)]);
  }
});
