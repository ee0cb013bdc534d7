import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { createLimiter, memoryStore, type Store, slidingWindow } from 'comporta';
import { httpStore } from 'comporta/http-store';
import { serveStore, storeListener } from 'comporta/store-server';
import { faultyStore } from 'comporta/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../packages/comporta/src/testing/fake-clock.js';

const TOKENS = ['the-token-in-use-now', 'the-token-of-before'];
const URL_OF = 'https://limits.example.org/v1/store';
const limits = slidingWindow({ limit: 5, window: '1m' });
const PLAN = { policy: 'p', limits: [{ id: 'a', slidingWindow: { limit: 5, window: '1m' } }] };
const CONSUME = { op: 'consume', plan: '0', subject: 'ana', cost: 1 };
const GOOD = { timeoutMs: 50, plans: { 0: PLAN }, operations: [CONSUME] };

let store: Store;
let handle: (request: Request) => Promise<Response>;
beforeEach(() => {
  store = memoryStore();
  handle = serveStore(store, { token: TOKENS });
});
afterEach(() => store.close());

function ask(body: unknown, { token = TOKENS[0], url = URL_OF, method = 'POST' } = {}): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return handle(new Request(url, { method, headers, ...(method === 'POST' && { body: text }) }));
}

describe('the service', () => {
  test('answers a call with what the store says, under any prefix and with any of its tokens', async () => {
    for (const token of TOKENS) {
      const response = await ask(GOOD, { token, url: 'https://example.org/limits/v1/store' });
      expect(response.status).toBe(200);
      const { replies } = (await response.json()) as { replies: { value: { numbers: number[] } }[] };
      expect(replies[0]?.value.numbers).toHaveLength(4);
    }
    expect(await (await ask({ ...GOOD, operations: [{ ...CONSUME, op: 'peek' }] })).json()).toMatchObject({
      replies: [{ value: { numbers: [3, 0, expect.any(Number), expect.any(Number)] } }],
    });
  });

  test.each<[string, Parameters<typeof ask>[1], number, RegExp]>([
    ['no token', { token: '' }, 401, /token/],
    ['a wrong token', { token: `${TOKENS[0]}x` }, 401, /token/],
    ['another path', { url: 'https://example.org/' }, 404, /nothing is served here.*\/v1\/store/],
    ['another version', { url: 'https://example.org/v2/store' }, 404, /another version.*\/v1\/store/],
    ['another method', { method: 'GET' }, 405, /POST/],
  ])('refuses %s', async (_, options, status, detail) => {
    const response = await ask(GOOD, options);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(await response.json()).toMatchObject({ status, detail: expect.stringMatching(detail) });
  });

  const operation = (changes: object) => ({ ...GOOD, operations: [{ ...CONSUME, ...changes }] });
  const plan = (changes: object) => ({ ...GOOD, plans: { 0: { ...PLAN, ...changes } } });
  const action = (changes: object) => operation({ op: 'act', action: { subject: 'a', cost: 1, id: 'x', ...changes } });
  test.each<[string, unknown]>([
    ['body', 'no JSON'],
    ['body', []],
    ['timeoutMs', { ...GOOD, timeoutMs: 0 }],
    ['timeoutMs', { ...GOOD, timeoutMs: 60_001 }],
    ['plans', { ...GOOD, plans: 7 }],
    ['operations', { ...GOOD, operations: undefined }],
    ['operations', { ...GOOD, operations: Array(129).fill(CONSUME) }],
    ['operations[0]', { ...GOOD, operations: [null] }],
    ['operations[0].op', operation({ op: 'eval' })],
    ['operations[0].op', operation({ op: 'constructor' })],
    ['operations[0].plan', operation({ plan: '1' })],
    ['operations[0].plan', operation({ plan: 'toString' })],
    ['operations[0].subject', operation({ subject: '' })],
    ['operations[0].subject', operation({ subject: 7 })],
    ['operations[0].cost', operation({ cost: 0 })],
    ['operations[0].cost', operation({ cost: 1.5 })],
    ['operations[0].cost', operation({ cost: 2 ** 53 })],
    ['operations[0].id', operation({ id: 'a b' })],
    ['operations[0].terms', operation({ terms: 'r1' })],
    ['operations[0].terms.replaced', operation({ terms: { expected: '' } })],
    ['operations[0].amounts', operation({ op: 'force' })],
    ['operations[0].amounts[1]', operation({ op: 'force', amounts: [1, -1] })],
    ['operations[0].charge', operation({ op: 'refund' })],
    ['operations[0].charge.amount', operation({ op: 'refund', charge: { subject: 'a', decisionId: 'x', atUs: 1 } })],
    ['operations[0].action.kind', action({ kind: 'drop' })],
    ['operations[0].action.holdMs', action({ kind: 'reserve', holdMs: 0 })],
    ['operations[0].action.isNoted', action({ kind: 'settle', holdMs: 9, reserved: 1, atUs: 1 })],
    ['operations[0].action.terms', action({ kind: 'setTerms' })],
    ['operations[0].policies', operation({ op: 'beat', who: 'x' })],
    ['operations[0].who', operation({ op: 'beat', who: '', policies: [] })],
    ['plans.0.policy', plan({ policy: 'a:b' })],
    ['plans.0.limits', plan({ limits: [] })],
    ['plans.0.limits', plan({ limits: Array(9).fill(PLAN.limits[0]) })],
    ['plans.0.limits[0]', plan({ limits: [{ id: 'a', constructor: {} }] })],
    ['plans.0.limits[0].limit', plan({ limits: [{ id: 'a', slidingWindow: { limit: -1, window: '1m' } }] })],
    ['plans.0.limits[0].window', plan({ limits: [{ id: 'a', slidingWindow: { limit: 1, window: '1 eon' } }] })],
    ['plans.0.limits[0].id', plan({ limits: [{ ...PLAN.limits[0], id: 'a}' }] })],
    ['plans.0.blocks.withinMs', plan({ blocks: { refusals: 3 } })],
    ['plans.0.haveTerms', plan({ haveTerms: 1 })],
    ['plans.0.split', plan({ split: 8 })],
    ['plans.0.split.processes', plan({ split: { processes: 65, rank: 0 } })],
    ['plans.0.split.rank', plan({ split: { processes: 8, rank: 8 } })],
  ])('names %s', async (field, body) => {
    const response = await ask(body);
    expect(await response.json()).toMatchObject({ status: 400, title: 'Bad Request', field });
    expect(response.status).toBe(400);
  });

  test('does nothing of a request of which one call is wrong', async () => {
    await ask({ ...GOOD, operations: [CONSUME, { ...CONSUME, cost: -1 }] });
    const { replies } = (await (await ask({ ...GOOD, operations: [{ ...CONSUME, op: 'peek' }] })).json()) as {
      replies: { value: { numbers: number[] } }[];
    };
    expect(replies[0]?.value.numbers[0]).toBe(5);
  });

  test('reads no request that is too long', async () => {
    expect((await ask('x'.repeat(8 * 2 ** 20 + 1))).status).toBe(413);
  });

  test("answers as a listener of Node's server, also a request that is too long and one that is cut off", async () => {
    const server = createServer(storeListener(store, { token: TOKENS })).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const headers = { authorization: `Bearer ${TOKENS[0]}` };
    const post = (body: string) => fetch(`http://127.0.0.1:${port}/v1/store?a=b`, { method: 'POST', headers, body });
    expect(await (await post(JSON.stringify(GOOD))).json()).toMatchObject({ replies: [{ value: {} }] });
    expect((await post('x'.repeat(8 * 2 ** 20 + 1))).status).toBe(413);
    const cut = connect(port, '127.0.0.1');
    cut.write(
      `POST /v1/store HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${TOKENS[0]}\r\ncontent-length: 99\r\n\r\n{`,
    );
    await once(server, 'request');
    cut.destroy();
    expect((await post(JSON.stringify(GOOD))).status).toBe(200);
    server.closeAllConnections();
    server.close();
  });

  test('counts the processes that say that they use a policy, for ten seconds each', async () => {
    const clock = new FakeClock();
    handle = serveStore(memoryStore({ clock }), { token: TOKENS });
    const beat = async (who: string, policies: readonly string[]) => {
      const response = await ask({ ...GOOD, operations: [{ op: 'beat', who, policies }] });
      const { replies } = (await response.json()) as { replies: { value: unknown }[] };
      return replies[0]?.value;
    };
    expect(await beat('b', ['p', 'q'])).toEqual([
      { processes: 1, rank: 0 },
      { processes: 1, rank: 0 },
    ]);
    expect(await beat('a', ['p'])).toEqual([{ processes: 2, rank: 0 }]);
    expect(await beat('b', ['p'])).toEqual([{ processes: 2, rank: 1 }]);
    clock.advance(9000);
    expect(await beat('b', ['p'])).toEqual([{ processes: 2, rank: 1 }]);
    clock.advance(2000);
    expect(await beat('b', ['p', 'q'])).toEqual([
      { processes: 1, rank: 0 },
      { processes: 1, rank: 0 },
    ]);
  });

  test('is not made with a token that can be guessed', () => {
    for (const token of ['', 'short', 'a token with spaces in it', [], undefined, 7]) {
      expect(() => serveStore(store, { token } as never)).toThrow(/token: expected a text of at least 16/);
    }
    expect(() => storeListener('redis://localhost' as never, { token: TOKENS })).toThrow(/expected a store/);
  });

  test('answers before the time of the caller is over, and says why the store did not', async () => {
    const clock = new FakeClock();
    const away = faultyStore({ clock });
    handle = serveStore(away, { token: TOKENS, clock });
    away.freeze();
    const asked = ask(GOOD);
    await expect.poll(() => clock.timers).toBe(1);
    await clock.pass(40);
    expect(await (await asked).json()).toMatchObject({ replies: [{ error: { kind: 'timeout' } }] });
    away.down();
    const refused = await (await ask(GOOD)).json();
    expect(refused).toMatchObject({ replies: [{ error: { kind: 'unavailable', isUnsent: true } }] });
  });
});

describe('the store', () => {
  const over = (fetch: (url: string, init: RequestInit) => Promise<Response>) =>
    httpStore('https://limits.example.org/', { token: TOKENS[0] as string, fetch, onWarning: () => undefined });
  const decideOver = (fetch: (url: string, init: RequestInit) => Promise<Response>) =>
    createLimiter({ policy: 'p', limits, store: over(fetch), timeoutMs: 1000 }).consume('ana');

  test('gets its answers from the service', async () => {
    const decision = await decideOver((url, init) => handle(new Request(url, init)));
    expect(decision).toMatchObject({ allowed: true, degraded: undefined, limits: [{ remaining: 4 }] });
  });

  test.each<[string, () => Response, string, RegExp]>([
    ['a page of a proxy', () => new Response('<html>'), 'unavailable', /without JSON/],
    ['other JSON', () => Response.json({ ok: true }), 'unavailable', /none of a store that serveStore\(\) serves/],
    ['too few replies', () => Response.json({ replies: [] }), 'unavailable', /none of a store/],
    [
      'replies of another form',
      () => Response.json({ replies: [{ value: { at: 1 } }] }),
      'unavailable',
      /none of a store/,
    ],
    [
      'numbers of other limits',
      () => Response.json({ replies: [{ value: { atUs: 1, numbers: [1] } }] }),
      'unavailable',
      /none of/,
    ],
    [
      'an unknown cause',
      () => Response.json({ replies: [{ error: { kind: 'x', message: 'y' } }] }),
      'unavailable',
      /none of/,
    ],
    ['a refusal', () => Response.json({ detail: 'cost: no' }, { status: 400 }), 'misconfigured', /HTTP 400: cost: no/],
    [
      'another version',
      () => Response.json({ detail: 'at /v2' }, { status: 404 }),
      'misconfigured',
      /at \/v2.*URL right/,
    ],
  ])('says so when it is answered %s', async (_, answer, cause, detail) => {
    const { degraded } = await decideOver(async () => answer());
    expect(degraded).toMatchObject({ cause, detail: expect.stringMatching(detail) });
  });

  test('keeps its breaker shut while the service answers for a store that fails', async () => {
    const away = faultyStore();
    away.down();
    handle = serveStore(away, { token: TOKENS });
    const far = over((url, init) => handle(new Request(url, init)));
    const limiter = createLimiter({ policy: 'p', limits, store: far, timeoutMs: 1000 });
    const states: string[] = [];
    limiter.on('breaker', ({ state }) => states.push(state));
    for (let i = 0; i < 20; i++) expect((await limiter.consume('a')).degraded).toBeDefined();
    expect(states).toEqual([]);
  });

  test('after its end nothing is sent', async () => {
    let count = 0;
    const far = over(async () => {
      count++;
      return Response.json({});
    });
    await far.close();
    await expect(far.ping()).rejects.toMatchObject({ kind: 'unavailable', isUnsent: true });
    expect(count).toBe(0);
  });

  test('is not made of what is no address or token', () => {
    expect(() => httpStore('limits.example.org', { token: 'a' })).toThrow(/httpStore: url: expected an https/);
    expect(() => httpStore('https://limits.example.org', {} as never)).toThrow(/httpStore: token/);
    expect(() => httpStore('https://limits.example.org', undefined as never)).toThrow(/expected \(url, \{ token \}\)/);
  });
});
