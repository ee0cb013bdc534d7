import { createLimiter, memoryStore, slidingWindow } from 'comporta';
import { httpStore } from 'comporta/http-store';
import { serveStore } from 'comporta/store-server';
import { expect, test } from 'vitest';

const TOKEN = 'the-token-in-use-now';
const limits = slidingWindow({ limit: 5, window: '1m' });
const plan = { policy: 'p', limits: [{ ...limits, id: 'a' }] };

type Answer = (sent: { readonly operations: readonly unknown[] }) => Response | Promise<Response>;

const storeAnswered = (answer: Answer) =>
  httpStore('https://limits.example.org', {
    token: TOKEN,
    onWarning: () => undefined,
    fetch: async (_, { body }) => answer(JSON.parse(String(body))),
  });

const decide = (answer: Answer) =>
  createLimiter({
    policy: 'p',
    limits,
    store: storeAnswered(answer),
    timeoutMs: 1000,
    onStoreFailure: 'closed',
  }).consume('ana');

const replied = (value: unknown): Response => Response.json({ replies: [{ value }] });
const GOOD = { atUs: 1e15, numbers: [4, 0, 60_000, 60_000] };

test.each<[string, unknown]>([
  ['a negative rest', { ...GOOD, numbers: [-1, 0, 1, 1] }],
  ['a wait below never', { ...GOOD, numbers: [4, -2, 1, 1] }],
  ['a reset before now', { ...GOOD, numbers: [4, 0, -1, 1] }],
  ['a next before now', { ...GOOD, numbers: [4, 0, 1, -1] }],
  ['a time before 1970', { ...GOOD, atUs: -1 }],
  ['an endless number', '{"atUs":1,"numbers":[1e999,0,0,0]}'],
  ['a fraction', { ...GOOD, numbers: [0.5, 0, 1, 1] }],
  ['a negative block', { atUs: 1, numbers: [], blockedMs: -1 }],
  ['terms that are no text', { atUs: 1, numbers: [], terms: 7 }],
])('%s is no answer', async (_, value) => {
  const answer = () => (typeof value === 'string' ? new Response(`{"replies":[{"value":${value}}]}`) : replied(value));
  expect((await decide(answer)).degraded).toMatchObject({
    cause: 'unavailable',
    detail: expect.stringMatching(/none of/),
  });
});

test('a wait of never is an answer', async () => {
  const decision = await decide(() => replied({ ...GOOD, numbers: [0, -1, 0, 0] }));
  expect(decision).toMatchObject({ allowed: false, degraded: undefined });
});

test('what a service adds to an answer changes nothing', async () => {
  const degraded = { mode: 'open', cause: 'timeout', detail: 'x' };
  const decision = await decide(() => replied({ ...GOOD, degraded, allowed: false, junk: 1 }));
  expect(decision).toMatchObject({ allowed: true, degraded: undefined });
});

test('words and counts of other calls are looked at too', async () => {
  const policy = storeAnswered(() => replied(-1)).bind(plan);
  await expect(policy.reset('ana')).rejects.toThrow(/none of a store/);
  const acting = storeAnswered(() => replied({ ...GOOD, word: -2 })).bind(plan);
  await expect(acting.act?.({ kind: 'charge', subject: 'a', cost: 1 })).rejects.toThrow(/none of a store/);
  for (const part of [
    { processes: 0, rank: 0 },
    { processes: 2, rank: 2 },
    { processes: 1.5, rank: 0 },
  ]) {
    await expect(storeAnswered(() => replied([part])).beat?.('a', ['p'])).rejects.toThrow(/none of a store/);
  }
});

test('an answer may be as long as was asked for, and no longer', async () => {
  const long =
    (bytes: number): Answer =>
    () =>
      new Response(`{"replies":[{"value":1}],"x":"${'x'.repeat(bytes)}"}`);
  await expect(storeAnswered(long(60_000)).ping()).resolves.toBeUndefined();
  await expect(storeAnswered(long(70_000)).ping()).rejects.toThrow('longer than 69632 bytes');
  const many = storeAnswered(({ operations }) => {
    const replies = operations.map(() => ({ error: { kind: 'unavailable', message: 'x'.repeat(4000) } }));
    return Response.json({ replies });
  }).bind(plan);
  const failures = Array.from({ length: 128 }, () =>
    Promise.resolve(many.consume('ana', 1)).catch(({ message }) => message),
  );
  expect(new Set(await Promise.all(failures))).toEqual(new Set(['x'.repeat(300)]));
});

test.each([200, 400, 500])('no failure names the token, with status %i', async (status) => {
  const message = `you sent "${TOKEN}"`;
  // As JSON may write it.
  const escaped = TOKEN.replace('t', '\\u0074');
  const bodies =
    status === 200
      ? [JSON.stringify({ replies: [{ error: { kind: 'unavailable', message } }] })]
      : [JSON.stringify({ detail: message }), `{"detail":"you sent ${escaped}"}`];
  for (const body of bodies) {
    const { degraded } = await decide(() => new Response(body, { status }));
    expect(degraded?.detail).toContain('you sent');
    expect(degraded?.detail).not.toContain(TOKEN);
  }
});

test('what is about no subject keeps no decision waiting', async () => {
  const handle = serveStore(memoryStore(), { token: TOKEN });
  const requests: number[] = [];
  const store = httpStore('https://limits.example.org', {
    token: TOKEN,
    fetch: (url, init) => {
      requests.push(JSON.parse(String(init.body)).operations.length);
      return handle(new Request(url, init));
    },
  });
  const policy = store.bind(plan);
  await Promise.all([policy.consume('a', 1), policy.consume('b', 1), store.ping(), store.beat?.('who', ['p'])]);
  expect(requests.sort()).toEqual(expect.arrayContaining([1, 1, 2]));
  expect(requests.filter((operations) => operations > 1)).toEqual([2]);
});
