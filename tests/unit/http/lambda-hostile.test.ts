import { type ComportaError, fixedWindow, memoryStore } from 'comporta';
import type { Verdict } from 'comporta/http';
import { rateLimitAuthorizer, withRateLimit } from 'comporta/lambda';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { albEvent, httpEvent, restEvent } from './lambda-events.js';

/** Any JSON, lone surrogates in its texts and names included. */
const { any } = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\ud800', 'a\udc00=%', '%', '%ff', '__proto__', '1.2.3.4', null, undefined, 0, -1, true),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(fc.constantFrom('\ud800', 'Cookie', 'X-Forwarded-For'), fc.string()), tie('any'), {
      maxKeys: 3,
    }),
  ),
}));

const PARTS = [
  'path',
  'rawPath',
  'rawQueryString',
  'routeKey',
  'resource',
  'cookies',
  'headers',
  'multiValueHeaders',
  'queryStringParameters',
  'multiValueQueryStringParameters',
];

/** An HTTP event of each kind, some parts of which are anything. */
const event = fc
  .record({
    base: fc.constantFrom<object>(httpEvent(), restEvent(), albEvent()),
    parts: fc.dictionary(fc.constantFrom(...PARTS), any),
    method: any,
    address: any,
  })
  .map(({ base, parts, method, address }) => {
    if ('rawPath' in base) return { ...base, ...parts, requestContext: { http: { method, sourceIp: address } } };
    const { requestContext } = base as { readonly requestContext: object };
    const rest = 'elb' in requestContext ? requestContext : { identity: { sourceIp: address } };
    return { ...base, ...parts, httpMethod: method ?? 'GET', requestContext: rest };
  });

const limits = fixedWindow({ limit: 1e9, window: '1d' });

function door() {
  const counted: number[] = [];
  const errors: ComportaError[] = [];
  const options = {
    store: memoryStore(),
    policies: [
      { name: 'address', limits },
      { name: 'query', key: 'query:q', limits },
      { name: 'cookie', key: 'cookie:a', limits },
      { name: 'header', key: 'header:x-user', limits },
      { name: 'paths', match: { path: ['/*', '/:a/*'] }, limits },
    ],
    onVerdict: ({ decisions }: Verdict) => void counted.push(decisions.length),
    onError: (error: ComportaError) => void errors.push(error),
  } as const;
  return { options, counted, errors };
}

test('whatever an HTTP event has in it, it is counted by every policy, and nothing throws', async () => {
  const { options, counted, errors } = door();
  const handle = withRateLimit(async (_: object) => ({ statusCode: 200 }), options);
  const authorize = rateLimitAuthorizer<object>(options);
  await fc.assert(
    fc.asyncProperty(event, async (hostile) => {
      const before = counted.length;
      expect(await handle(hostile, {})).toMatchObject({ statusCode: 200 });
      expect(await authorize(hostile)).toMatchObject({ policyDocument: { Statement: [{ Effect: 'Allow' }] } });
      expect(counted.slice(before).every((decided) => decided >= 4)).toBe(true);
      expect(counted.length).toBe(before + 2);
    }),
    { numRuns: 400 },
  );
  // Clients without an address and key sources that fail are said; that a request could not be decided never is.
  expect(errors.map(({ message }) => message).filter((message) => /could not be|uncounted/.test(message))).toEqual([]);
});

test.each<[string, object]>([
  [
    'a query with half a letter',
    restEvent({ queryStringParameters: null, multiValueQueryStringParameters: { q: ['\ud800'] } }),
  ],
  ['cookies that are one text', httpEvent({ cookies: 'a=1' } as never)],
  ['an address that is a number', httpEvent({ requestContext: { http: { method: 'GET', sourceIp: 7 } } } as never)],
  ['a method that is a number', httpEvent({ requestContext: { http: { method: 5 } } } as never)],
  ['a path that is none', restEvent({ path: 5, httpMethod: 7 } as never)],
  ['header fields that are a text', albEvent({ headers: 'x-forwarded-for: 1.2.3.4' } as never)],
])('%s does not lift the limit', async (_, hostile) => {
  const one = fixedWindow({ limit: 1, window: '1d' });
  const options = { limits: one, store: memoryStore(), onError: () => undefined };
  const handle = withRateLimit(async (_event: object) => ({ statusCode: 200 }), options);
  expect([await handle(hostile, {}), await handle(hostile, {})]).toMatchObject([
    { statusCode: 200 },
    { statusCode: 429 },
  ]);
});

test('cookies that are one text are read as such', async () => {
  const subjects: unknown[] = [];
  const onVerdict = ({ decisions }: Verdict) => void subjects.push(decisions[0]?.subject);
  const handle = withRateLimit(async (_: object) => 'x', { limits, key: 'cookie:b', onVerdict });
  await handle(httpEvent({ cookies: 'a=1; b=2' } as never), {});
  expect(subjects).toEqual(['cookie.b=2']);
});

test('an authorizer answers where there is no event, and a context may be anything', async () => {
  const errors: string[] = [];
  const onError = ({ message }: ComportaError) => void errors.push(message);
  const authorize = rateLimitAuthorizer<unknown>({ limits, onError });
  for (const none of [null, undefined, 'text', 7]) {
    expect(await authorize(none)).toMatchObject({
      policyDocument: { Statement: [{ Effect: 'Allow', Resource: '*' }] },
    });
  }
  expect(errors).toEqual([expect.stringContaining('no HTTP request')]);
  const none = fixedWindow({ limit: 0, window: '1d' });
  const handle = withRateLimit(async (_event: object, _context: unknown) => 'x', { limits: none });
  for (const context of [null, 7, { getRemainingTimeInMillis: 7 }]) {
    expect(await handle(httpEvent(), context)).toMatchObject({ statusCode: 429 });
  }
});
