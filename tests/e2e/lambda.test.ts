import { fileURLToPath } from 'node:url';
import { createLimiter, fixedWindow } from 'comporta';
import { redisStore } from 'comporta/redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Invocation, type LambdaEnvironment, startEnvironment } from '../support/lambda-runtime.js';
import { startProxy } from '../support/proxy.js';
import { type Server, startServer } from '../support/servers.js';
import { sleep } from '../support/wait.js';
import type { Told } from './lambda-function.js';

const LIMIT_MS = 50;
const SLACK_MS = 10;
/** Long enough for connections to die unnoticed. */
const FROZEN_MS = 2500;

interface Answer {
  readonly statusCode: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly told: Told;
}

/** By how much a decision missed its time limit through no fault of the machine's. */
const overtimeMs = ({ tookMs, lateMs }: Told): number => tookMs - lateMs - LIMIT_MS;

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const loader = new URL('../../scripts/lib/typescript.mjs', import.meta.url).href;
const command = ['--import', loader, file('./lambda-bootstrap.ts')];

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const start = (url = server.url): Promise<LambdaEnvironment> =>
  startEnvironment(command, { REDIS_URL: url, _HANDLER: 'lambda-function.handler' });

const eventOf = (rawPath: string, sourceIp: string): object => ({
  version: '2.0',
  routeKey: '$default',
  rawPath,
  rawQueryString: '',
  headers: {},
  requestContext: { http: { method: 'GET', path: rawPath, sourceIp } },
});

function answerOf(invocation: Invocation<Answer>): Answer {
  if (invocation.kind === 'error') throw new Error(`${invocation.type}: ${invocation.message}`);
  return invocation.answer;
}

const call = async (environment: LambdaEnvironment, path: string, sourceIp = '203.0.113.9'): Promise<Answer> =>
  answerOf(await environment.invoke<Answer>(eventOf(path, sourceIp)));

test('environments that share one Redis decide exactly together', async () => {
  const starting = [start(), start(), start()] as const;
  await using one = await starting[0];
  await using two = await starting[1];
  await using three = await starting[2];
  const rounds = Array.from({ length: 20 }, (_, i) => i);
  const answers = await Promise.all(
    [one, two, three].map(async (environment) => {
      const own: Answer[] = [];
      for (const _ of rounds) own.push(await call(environment, '/exact'));
      return own;
    }),
  );
  const statuses = answers.flat().map(({ statusCode }) => statusCode);
  expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  expect(statuses.filter((status) => status === 429)).toHaveLength(40);
  expect(answers.flat().filter(({ told }) => told.degraded !== undefined)).toEqual([]);
});

test('what an answer changes is stored before the environment is frozen', async () => {
  await using proxy = await startProxy(server);
  await using environment = await start(proxy.url);
  // So far away that an environment which does not wait is frozen first.
  proxy.delay(50);
  const store = redisStore(server.url);
  const limits = fixedWindow({ limit: 100, window: '1d', align: 'first-hit' });
  const reader = createLimiter({ policy: 'failures', limits, store });
  const left = async () => (await reader.peek('ip=203.0.113.10')).limits[0]?.remaining;
  await store.ready(2000);
  for (const [path, remaining] of [
    ['/works', 100],
    ['/fails', 99],
    ['/works', 99],
    ['/fails', 98],
  ] as const) {
    await call(environment, path, '203.0.113.10');
    // The process stands still now: what is not stored yet will not be.
    expect(await left()).toBe(remaining);
  }
  const thrown = await environment.invoke(eventOf('/throws', '203.0.113.10'));
  expect(thrown).toMatchObject({ kind: 'error', type: 'RangeError', message: 'mine' });
  expect(await left()).toBe(97);
  await reader.close();
  await store.close();
});

test('after a freeze the first decision is in time, and the store’s own', async () => {
  await using environment = await start();
  expect((await call(environment, '/steady')).told.degraded).toBeUndefined();
  await sleep(FROZEN_MS);
  const { statusCode, told, headers } = await call(environment, '/steady');
  expect([statusCode, told.degraded, headers?.ratelimit]).toEqual([200, undefined, expect.stringMatching(/r=99998/)]);
  expect(overtimeMs(told)).toBeLessThan(SLACK_MS);
});

test('after a freeze in which Redis was started anew decisions are in time, and soon the store’s again', async () => {
  await using environment = await start();
  await call(environment, '/steady');
  await sleep(FROZEN_MS / 2);
  await server.restart();
  await sleep(FROZEN_MS / 2);
  const answers: Answer[] = [];
  for (let i = 0; i < 100 && (i === 0 || answers.at(-1)?.told.degraded !== undefined); i++) {
    answers.push(await call(environment, '/steady'));
    await sleep(20);
  }
  console.log(`after a restart: ${JSON.stringify(answers.map(({ told }) => told))}`);
  expect(answers.at(-1)?.told.degraded).toBeUndefined();
  expect(answers.map(({ statusCode }) => statusCode)).toEqual(answers.map(() => 200));
  expect(Math.max(...answers.map(({ told }) => overtimeMs(told)))).toBeLessThan(SLACK_MS);
});

test.each([
  ['is gone', () => server.kill(), () => server.start()],
  ['says nothing', async () => server.freeze(), async () => server.thaw()],
])('while Redis %s requests pass in time, marked as not counted', async (_, stop, resume) => {
  await using environment = await start();
  await call(environment, '/steady');
  await stop();
  try {
    for (let i = 0; i < 5; i++) {
      const { statusCode, headers, told } = await call(environment, '/steady');
      expect([statusCode, headers?.ratelimit]).toEqual([200, undefined]);
      expect(told.degraded).toMatch(/^(timeout|unavailable|breaker-open)$/);
      expect(overtimeMs(told)).toBeLessThan(SLACK_MS);
    }
  } finally {
    await resume();
  }
});
