import middy from '@middy/core';
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import { fixedWindow } from 'comporta';
import { rateLimitMiddleware, withRateLimit } from 'comporta/lambda';
import { expect, test } from 'vitest';
import { httpEvent } from './lambda-events.js';
import { slowRefunds } from './slow-refunds.js';

const context = { getRemainingTimeInMillis: () => 3000 } as Context;
const limits = fixedWindow({ limit: 9, window: '1d' });

/** A middleware that counts failures, with the statuses that it saw and what is left. */
function failures() {
  const statuses: number[] = [];
  const { store, pending } = slowRefunds();
  const count = ({ status }: { status: number }) => {
    statuses.push(status);
    return status < 400 ? 0 : 1;
  };
  const limiter = rateLimitMiddleware<APIGatewayProxyEventV2>({ name: 'p', limits, store, count, timeoutMs: 5000 });
  const left = async () => (await limiter.gate.limiters.get('p')?.peek('ip=203.0.113.9'))?.limits[0]?.remaining;
  return { limiter, statuses, left, pending };
}

test('an answer gets its fields, and is settled before the function returns', async () => {
  const { limiter, statuses, left, pending } = failures();
  const handler = middy(async (_: APIGatewayProxyEventV2) => ({ statusCode: 200, body: 'x' })).use(limiter);
  expect(await handler(httpEvent(), context)).toMatchObject({
    statusCode: 200,
    headers: { ratelimit: expect.stringMatching(/^"p";r=8/) },
  });
  expect([statuses, pending(), await left()]).toEqual([[200], 0, 9]);
});

test('a refused request never reaches the handler', async () => {
  let calls = 0;
  const none = fixedWindow({ limit: 0, window: '1d' });
  const handler = middy(async (_: APIGatewayProxyEventV2) => ++calls).use(rateLimitMiddleware({ limits: none }));
  expect(await handler(httpEvent(), context)).toMatchObject({ statusCode: 429 });
  expect(calls).toBe(0);
});

test('a handler that throws has failed with the status that its error names, and the error goes on', async () => {
  const { limiter, statuses, left } = failures();
  for (const error of [new Error('mine'), Object.assign(new Error('gone'), { statusCode: 404 })]) {
    const handler = middy(async (_: APIGatewayProxyEventV2) => {
      throw error;
    }).use(limiter);
    await expect(handler(httpEvent(), context)).rejects.toBe(error);
  }
  expect([statuses, await left()]).toEqual([[500, 404], 7]);
});

test('an answer that another middleware makes of an error is settled with its status, and gets fields', async () => {
  const { limiter, statuses } = failures();
  const handler = middy(async (_: APIGatewayProxyEventV2): Promise<{ statusCode: number }> => {
    throw new Error('mine');
  })
    .use(limiter)
    .onError((request) => {
      request.response = { statusCode: 418 };
    });
  expect(await handler(httpEvent(), context)).toMatchObject({
    statusCode: 418,
    headers: { ratelimit: expect.any(String) },
  });
  expect(statuses).toEqual([418]);
});

test('an error before the limiter was asked changes nothing', async () => {
  const { limiter, statuses } = failures();
  const handler = middy(async (_: APIGatewayProxyEventV2) => 'x')
    .before(() => {
      throw new Error('first');
    })
    .use(limiter);
  await expect(handler(httpEvent(), context)).rejects.toThrow('first');
  expect(statuses).toEqual([]);
});

test('wrapped around middy, answers that another middleware gives early are settled too', async () => {
  const statuses: number[] = [];
  const early = middy(async (_: APIGatewayProxyEventV2) => 'x').before(() => ({ statusCode: 401 }));
  const handler = withRateLimit(early, { limits, count: ({ status }) => statuses.push(status) });
  expect(await handler(httpEvent(), context)).toMatchObject({ statusCode: 401, headers: expect.anything() });
  expect(statuses).toEqual([401]);
});

test('key functions get the event’s own type', () => {
  const options = { limits } as const;
  expect(
    rateLimitMiddleware<APIGatewayProxyEventV2>({ ...options, key: ({ request }) => request.rawPath }),
  ).toBeDefined();
  expect(rateLimitMiddleware({ ...options, key: ({ request }) => request.rawPath })).toBeDefined();
  // @ts-expect-error: no event has such a part
  expect(rateLimitMiddleware({ ...options, key: ({ request }) => request.rawName })).toBeDefined();
});
