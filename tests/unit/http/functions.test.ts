import { once } from 'node:events';
import type { Server } from 'node:http';
import { http } from '@google-cloud/functions-framework';
import { getTestServer } from '@google-cloud/functions-framework/testing';
import { fixedWindow } from 'comporta';
import { type RateLimitMiddleware, rateLimit } from 'comporta/express';
import type { Verdict } from 'comporta/http';
import type { Request, Response } from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../support/wait.js';
import { closeServer, portOf, send } from './serve.js';

const limits = fixedWindow({ limit: 1, window: '1d' });

/** Runs a function on the real framework; resolves to its port. */
async function run(name: string, limiter: RateLimitMiddleware<Request>, answer: (request: Request) => string) {
  http(name, (request: Request, response: Response) =>
    limiter(request, response, () => void response.send(answer(request))),
  );
  const server: Server = getTestServer(name).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => closeServer(server));
  return portOf({ server });
}

test('a function of Google Cloud is limited by the middleware of Express', async () => {
  const port = await run('plain', rateLimit<Request>({ limits }), () => 'hello');
  const [passed, refused] = [await send(port), await send(port)];
  expect([passed.status, passed.body, passed.headers.ratelimit]).toEqual([
    200,
    'hello',
    expect.stringMatching(/^"default";r=0/),
  ]);
  expect([refused.status, refused.headers['content-type']]).toEqual([429, 'application/problem+json']);
});

test('its responses are settled, failures by their status', async () => {
  const statuses: number[] = [];
  const limiter = rateLimit<Request>({ limits, count: ({ status }) => statuses.push(status) });
  const port = await run('settled', limiter, (request) => {
    request.res?.status(500);
    return 'x';
  });
  expect((await send(port)).status).toBe(500);
  await until(() => statuses.length > 0, { what: 'the end of the response' });
  expect(statuses).toEqual([500]);
});

test('its own idea of the client is forged by a header, the limiter’s is not', async () => {
  const subjects: (string | undefined)[] = [];
  const onVerdict = ({ decisions }: Verdict) => subjects.push(decisions[0]?.subject);
  const ips: (string | undefined)[] = [];
  const answer = (request: Request): string => {
    ips.push(request.ip);
    return 'x';
  };
  const limiter = rateLimit<Request>({ limits: fixedWindow({ limit: 9, window: '1d' }), onVerdict });
  const port = await run('forged', limiter, answer);
  await send(port, '/', { headers: { 'x-forwarded-for': '1.2.3.4, 203.0.113.9' } });
  expect([ips, subjects]).toEqual([['1.2.3.4'], ['ip=127.0.0.1']]);
});

test('behind a load balancer, which appends the client and itself, both are told apart', async () => {
  const subjects: (string | undefined)[] = [];
  const onVerdict = ({ decisions }: Verdict) => subjects.push(decisions[0]?.subject);
  const trustedProxies = ['loopback', '198.51.100.1'];
  const limiter = rateLimit<Request>({ limits: fixedWindow({ limit: 9, window: '1d' }), trustedProxies, onVerdict });
  const port = await run('balanced', limiter, () => 'x');
  await send(port, '/', { headers: { 'x-forwarded-for': '1.2.3.4, 203.0.113.9, 198.51.100.1' } });
  expect(subjects).toEqual(['ip=203.0.113.9']);
});
