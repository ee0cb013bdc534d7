import { memoryStore, type Store, slidingWindow } from 'comporta';
import { serveStore } from 'comporta/store-server';
import { FakeClock, faultyStore } from 'comporta/testing';
import { describe, expect, test } from 'vitest';

const TOKEN = 'the-token-in-use-now';
const LIMIT = { id: 'a', slidingWindow: { limit: 5, window: '1m' } };
const PLAN = { policy: 'p', limits: [LIMIT] };
const CONSUME = { op: 'consume', plan: '0', subject: 'ana', cost: 1 };
const GOOD = { timeoutMs: 50, plans: { 0: PLAN }, operations: [CONSUME] };

type Reply = { readonly value?: unknown; readonly error?: { readonly kind: string } };

function served(store: Store = memoryStore(), clock?: FakeClock) {
  const handle = serveStore(store, { token: TOKEN, ...(clock && { clock }) });
  const ask = (body: unknown): Promise<Response> => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const headers = { authorization: `Bearer ${TOKEN}` };
    return handle(new Request('https://limits.example.org/v1/store', { method: 'POST', headers, body: text }));
  };
  const replies = async (body: unknown): Promise<readonly Reply[]> =>
    ((await (await ask(body)).json()) as { replies: readonly Reply[] }).replies;
  return { ask, replies };
}

describe('what nobody reads is refused', () => {
  const operation = (changes: object, base: object = CONSUME) => ({ ...GOOD, operations: [{ ...base, ...changes }] });
  const plan = (changes: object) => ({ ...GOOD, plans: { 0: { ...PLAN, ...changes } } });
  const refund = { op: 'refund', plan: '0' };
  const charge = { subject: 'a', decisionId: 'x', atUs: 1, amount: 1 };
  test.each<[string, unknown]>([
    ['junk', { ...GOOD, junk: 1 }],
    ['operations[0].junk', operation({ junk: 1 })],
    ['operations[0].timeoutMs', operation({ timeoutMs: 5 })],
    ['operations[0].amounts', operation({ amounts: [1] })],
    ['operations[0].subject', operation({ subject: 'a' }, { op: 'ping' })],
    ['operations[0].terms.junk', operation({ terms: { expected: '', replaced: '', junk: 1 } })],
    ['operations[0].charge.junk', operation({ charge: { ...charge, junk: 1 } }, refund)],
    [
      'operations[0].action.junk',
      operation({ action: { kind: 'block', subject: 'a', cost: 1, junk: 1 } }, { op: 'act', plan: '0' }),
    ],
    ['plans.0.junk', plan({ junk: 'x' })],
    ['plans.0.blocks.junk', plan({ blocks: { junk: 1 } })],
    ['plans.0.limits[0].junk', plan({ limits: [{ id: 'a', slidingWindow: { limit: 1, window: '1m', junk: 1 } }] })],
    ['plans.0', plan({ limits: [{ id: 'a', slidingWindow: { limit: 1, window: '1s'.repeat(20_000) } }] })],
  ])('%s', async (field, body) => {
    expect(await (await served().ask(body)).json()).toMatchObject({ status: 400, field });
  });

  test.each([[[]], [[1, 1]]])('as are other amounts than the plan has limits: %j', async (amounts) => {
    const { ask, replies } = served();
    const force = (given: readonly number[]) =>
      operation({ amounts: given }, { op: 'force', plan: '0', subject: 'ana' });
    expect(await (await ask(force(amounts))).json()).toMatchObject({ status: 400, field: 'operations[0].amounts' });
    expect(await replies(force([2]))).toEqual([{ value: 2 }]);
    expect(await replies(GOOD)).toMatchObject([{ value: { numbers: [2, 0, 60_000, expect.any(Number)] } }]);
  });
});

test('a store in memory charges nothing for an amount that it is not given', async () => {
  const store = memoryStore();
  const { replies } = served(store);
  await replies(GOOD);
  const policy = store.bind({ policy: 'p', limits: [{ ...slidingWindow({ limit: 5, window: '1m' }), id: 'a' }] });
  for (const amounts of [[], [Number.NaN]]) expect(policy.force?.('ana', amounts)).toBe(0);
  expect(await replies(GOOD)).toMatchObject([{ value: { numbers: [3, 0, 60_000, expect.any(Number)] } }]);
});

test('brackets in brackets are refused before anything reads them, wherever they are', async () => {
  const { ask, replies } = served();
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  for (const body of [
    deep,
    `{"timeoutMs":50,"plans":{"0":${deep}},"operations":[]}`,
    `{"timeoutMs":50,"plans":{},"operations":[{"op":"ping","a\\"":${deep}}]}`,
  ]) {
    expect(await (await ask(body)).json()).toMatchObject({ status: 400, field: 'body' });
  }
  const operations = [{ ...CONSUME, subject: `${'['.repeat(50)}"\\` }];
  expect(await replies({ ...GOOD, operations })).toMatchObject([{ value: {} }]);
});

test('a plan is bound once, however it is written', async () => {
  const bound: string[] = [];
  const memory = memoryStore();
  const { replies } = served({
    ...memory,
    bind: (plan) => {
      bound.push(plan.policy);
      return memory.bind(plan);
    },
  });
  const spaced = JSON.stringify(GOOD, null, 2);
  const turned = { ...GOOD, plans: { 0: { haveTerms: false, limits: [LIMIT], policy: 'p' } } };
  for (const body of [GOOD, spaced, turned, GOOD]) expect(await replies(body)).toMatchObject([{ value: {} }]);
  expect(bound).toEqual(['p']);
});

test('what is about no subject is answered in time too, and so is what came with it', async () => {
  const clock = new FakeClock();
  const store = faultyStore({ clock });
  store.freeze();
  const held: Store = {
    kind: 'redis',
    bind: (plan) => store.bind(plan),
    ping: () => store.ping(),
    ready: () => store.ready(),
    beat: () => store.ping().then(() => []),
    close: () => store.close(),
  };
  const { replies } = served(held, clock);
  const operations = [{ op: 'ping' }, { op: 'beat', who: 'a', policies: ['p'] }, CONSUME];
  const asked = replies({ ...GOOD, operations });
  await expect.poll(() => clock.timers).toBe(3);
  await clock.pass(40);
  expect(await asked).toMatchObject(operations.map(() => ({ error: { kind: 'timeout' } })));
});

describe('the breakers of a service', () => {
  /** A store that answers after so long, and calls of so many ms. */
  const slow = (slowMs: number) => {
    const clock = new FakeClock();
    const store = faultyStore({ clock });
    store.slow(slowMs);
    const { replies } = served(store, clock);
    const ask = async (timeoutMs: number): Promise<string> => {
      const asked = replies({ ...GOOD, timeoutMs, plans: { 0: { ...PLAN, limits: [WIDE] } } });
      let isOver = false;
      void asked.then(() => {
        isOver = true;
      });
      while (!isOver) await clock.pass(1);
      const [reply] = await asked;
      return reply?.error?.kind ?? 'ok';
    };
    return { ask };
  };
  const WIDE = { id: 'a', slidingWindow: { limit: 100_000, window: '1m' } };

  test('stay shut for patient callers, whatever limits impatient ones choose', async () => {
    const { ask } = slow(30);
    for (let round = 0; round < 3; round++) {
      for (let timeoutMs = 1; timeoutMs <= 35; timeoutMs++) expect(await ask(timeoutMs)).not.toBe('ok');
    }
    for (const timeoutMs of [50, 70, 100, 1000]) expect(await ask(timeoutMs)).toBe('ok');
  });

  test('open for callers who wait as long as others waited for nothing, also between the usual limits', async () => {
    const { ask } = slow(1000);
    for (let i = 0; i < 3; i++) expect(await ask(70)).toBe('timeout');
    expect(await ask(60)).toBe('breaker-open');
    expect(await ask(2000)).toBe('ok');
  });
});
