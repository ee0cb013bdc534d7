import type {
  APIGatewayRequestAuthorizerEvent,
  APIGatewayRequestAuthorizerEventV2,
  APIGatewayRequestAuthorizerHandler,
  APIGatewayRequestSimpleAuthorizerHandlerV2WithContext,
} from 'aws-lambda';
import { type ComportaError, concurrency, memoryStore, slidingWindow } from 'comporta';
import { rateLimitAuthorizer } from 'comporta/lambda';
import { expect, test } from 'vitest';
import { httpEvent, restEvent } from './lambda-events.js';
import { slowRefunds } from './slow-refunds.js';
import { brokenStore, ManualClock } from './stores.js';

const limits = slidingWindow({ limit: 1, window: '10s' });
const methodArn = 'arn:aws:execute-api:eu-west-1:1:abc/prod/GET/users/7';
const rest = () => ({ ...restEvent(), type: 'REQUEST', methodArn }) as APIGatewayRequestAuthorizerEvent;
const http = () =>
  ({ ...httpEvent(), type: 'REQUEST', routeArn: methodArn }) as unknown as APIGatewayRequestAuthorizerEventV2;
const still = () => memoryStore({ clock: new ManualClock() });

const policy = (Effect: string, Resource: string) => ({
  principalId: 'comporta',
  policyDocument: { Version: '2012-10-17', Statement: [{ Action: 'execute-api:Invoke', Effect, Resource }] },
});

test('a REST API gets a policy for what was asked, and when to try again as a text', async () => {
  const authorize = rateLimitAuthorizer<APIGatewayRequestAuthorizerEvent>({ limits, store: still() });
  expect(await authorize(rest())).toEqual({ ...policy('Allow', methodArn), context: {} });
  expect(await authorize(rest())).toEqual({ ...policy('Deny', methodArn), context: { retryAfter: '10' } });
});

test('an HTTP API gets a simple response', async () => {
  const authorize = rateLimitAuthorizer<APIGatewayRequestAuthorizerEventV2>({ limits, store: still() });
  expect([await authorize(http()), await authorize(http())]).toEqual([
    { isAuthorized: true, context: {} },
    { isAuthorized: false, context: { retryAfter: '10' } },
  ]);
});

test('in an outage closed denies, and open allows', async () => {
  const closed = rateLimitAuthorizer({ name: 'p', limits, store: brokenStore(), onStoreFailure: 'closed' });
  expect(await closed(rest())).toMatchObject({ ...policy('Deny', methodArn), context: { retryAfter: '1' } });
  const open = rateLimitAuthorizer({ name: 'p', limits, store: brokenStore(), onStoreFailure: 'open' });
  expect(await open(rest())).toMatchObject(policy('Allow', methodArn));
});

test('a token without a request is allowed and not counted, reported once', async () => {
  const errors: ComportaError[] = [];
  const authorize = rateLimitAuthorizer<object>({ limits, onError: (error) => errors.push(error) });
  for (let i = 0; i < 3; i++) {
    const token = { type: 'TOKEN', methodArn, authorizationToken: 'x' };
    expect(await authorize(token)).toEqual({ ...policy('Allow', methodArn), context: {} });
  }
  expect(errors.map(({ message }) => message)).toEqual([expect.stringMatching(/^event: no HTTP request/)]);
});

test('a refusal gives back what other policies charged before the function is frozen', async () => {
  const none = slidingWindow({ limit: 0, window: '10s' });
  const policies = [
    { name: 'wide', limits },
    { name: 'none', limits: none },
  ];
  const { store, pending } = slowRefunds();
  const authorize = rateLimitAuthorizer({ policies, store });
  expect(await authorize(rest())).toMatchObject(policy('Deny', methodArn));
  expect(pending()).toBe(0);
  expect((await authorize.gate.limiters.get('wide')?.peek('ip=203.0.113.9'))?.limits[0]?.remaining).toBe(1);
  await authorize.close();
});

test('policies that need the answer are refused', () => {
  expect(() => rateLimitAuthorizer({ limits, count: 'failures' })).toThrow(/^count: an authorizer never sees/);
  expect(() => rateLimitAuthorizer({ limits: concurrency({ limit: 1 }) })).toThrow(/^limits: an authorizer never sees/);
});

test('is an authorizer by the types of @types/aws-lambda', () => {
  const v1: APIGatewayRequestAuthorizerHandler = rateLimitAuthorizer<APIGatewayRequestAuthorizerEvent>({
    limits,
    key: ({ request }) => request.methodArn,
  });
  const v2: APIGatewayRequestSimpleAuthorizerHandlerV2WithContext<object> =
    rateLimitAuthorizer<APIGatewayRequestAuthorizerEventV2>({ limits, key: ({ request }) => request.routeArn });
  expect([typeof v1, typeof v2]).toEqual(['function', 'function']);
});
