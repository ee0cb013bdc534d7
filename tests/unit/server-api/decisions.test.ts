import { describe, expect, test } from 'vitest';
import { keptApi } from './kept-api.js';

const bucket = (capacity: number) => ({ tokenBucket: { capacity, refill: capacity, every: '1d' } });

const api = keptApi(
  {},
  {
    policies: [
      {
        name: 'per-key',
        key: 'header:x-api-key',
        limits: bucket(5),
        plans: { gold: bucket(50) },
        plan: 'header:x-plan',
      },
      { name: 'pair', key: ['ip', 'query:q'], limits: bucket(5), cost: 2 },
      { name: 'everybody', key: 'global', limits: bucket(3) },
      { name: 'places', key: 'header:x-api-key', limits: { concurrency: { limit: 1, lease: '1m' } } },
    ],
    gateway: { listen: '127.0.0.1:0', routes: [{ path: '/', upstream: 'echo' }] },
  },
);

type Json = Readonly<Record<string, unknown>>;
const post = async (path: string, body: unknown): Promise<Json> => {
  const { status, json = {} } = await api.running.post(path, body);
  return { status, ...json };
};
const remaining = async (policy: string, subject: unknown): Promise<number | undefined> => {
  const { limits } = await post('/v1/peek', { policy, subject });
  return (limits as { remaining: number }[])[0]?.remaining;
};

describe('consume', () => {
  test('admits what the limit allows, then says when to come again', async () => {
    const ask = { policy: 'per-key', subject: 'a' };
    for (let i = 0; i < 5; i++)
      expect(await post('/v1/consume', ask)).toMatchObject({ allowed: true, retryAfterMs: 0 });
    const refused = await post('/v1/consume', ask);
    expect(refused).toMatchObject({
      status: 200,
      allowed: false,
      reason: 'limit-exceeded',
      policy: 'per-key',
      subject: 'a',
    });
    expect(refused.retryAfterMs).toBeGreaterThan(17_000_000);
    expect(await post('/v1/consume', { ...ask, cost: 0 })).toMatchObject({ allowed: true });
    expect(await post('/v1/consume', { ...ask, cost: 6 })).toMatchObject({
      reason: 'cost-exceeds-limit',
      retryAfterMs: null,
    });
  });

  test('a peek charges nothing, and a plan has its own limits', async () => {
    expect(await remaining('per-key', 'b')).toBe(5);
    expect(await remaining('per-key', 'b')).toBe(5);
    const { limits } = await post('/v1/consume', { policy: 'per-key', subject: 'b', plan: 'gold', cost: 40 });
    expect(limits).toMatchObject([{ limit: 50, remaining: 10 }]);
    const unknown = await post('/v1/consume', { policy: 'per-key', subject: 'b', plan: 'glod' });
    expect(unknown).toMatchObject({ status: 400, field: 'plan', detail: expect.stringContaining('"gold"') });
  });

  test('the values of a key name the subject that the gateway counts, at the cost of the policy', async () => {
    const origin = `http://127.0.0.1:${api.running.app.gateway?.port}`;
    await fetch(`${origin}/?q=a,b`, { headers: { 'x-api-key': 'shared' } });
    expect(await remaining('per-key', ['shared'])).toBe(4);
    expect(await remaining('pair', ['127.0.0.1', 'a,b'])).toBe(3);
    expect(await post('/v1/consume', { policy: 'pair', subject: ['127.0.0.1', 'a,b'] })).toMatchObject({ cost: 2 });
    expect(await post('/v1/peek', { policy: 'pair', subject: ['2001:db8::7', 'x%y'] })).toMatchObject({
      subject: 'ip=2001:db8::/64,query.q=x%25y',
    });
    expect(await post('/v1/peek', { policy: 'everybody', subject: [] })).toMatchObject({ subject: 'global' });
    expect(await post('/v1/peek', { policy: 'everybody', subject: ['global'] })).toMatchObject({
      status: 400,
      detail: expect.stringContaining('expected [], or the text "global"'),
    });
  });

  test.each([
    ['pair', ['127.0.0.1']],
    ['pair', ['127.0.0.1', 'a', 'b']],
    ['pair', ['no address', 'a']],
    ['everybody', ['a']],
    ['per-key', []],
  ])('values that the key of %s cannot have are refused: %j', async (policy, subject) => {
    expect(await post('/v1/consume', { policy, subject })).toMatchObject({ status: 400, field: 'subject' });
  });

  test.each([
    ['cost', -1],
    ['cost', 1.5],
    ['cost', '1'],
    ['cost', 2 ** 53],
    ['subject', ''],
    ['subject', 7],
    ['subject', null],
    ['subject[0]', [7]],
    ['timeoutMs', 0],
    ['timeoutMs', 60_001],
    ['plan', ''],
    ['policy', 5],
    ['policy', 'x'.repeat(65)],
  ])('%s cannot be %j', async (field, value) => {
    const [name = ''] = field.split('[', 1);
    const answer = await post('/v1/consume', { policy: 'per-key', subject: 'a', [name]: value });
    expect(answer).toMatchObject({ status: 400, field });
    expect(String(answer.detail).length).toBeLessThan(300);
  });
});

describe('consume-batch', () => {
  test('charges nobody when one refuses, or each by itself', async () => {
    const checks = [
      { policy: 'per-key', subject: 'c', cost: 3 },
      { policy: 'pair', subject: 'c', cost: 9 },
    ];
    const all = await post('/v1/consume-batch', { checks });
    expect(all).toMatchObject({ allowed: false, decisions: [{ allowed: true }, { allowed: false }] });
    expect(await remaining('per-key', 'c')).toBe(5);
    expect(await post('/v1/consume-batch', { checks, mode: 'each' })).toMatchObject({ allowed: false });
    expect(await remaining('per-key', 'c')).toBe(2);
    const first = checks.slice(0, 1).map((check) => ({ ...check, cost: 2 }));
    expect(await post('/v1/consume-batch', { checks: first })).toMatchObject({ allowed: true });
  });

  test('names the check that cannot be meant, and charges nobody', async () => {
    const good = { policy: 'per-key', subject: 'd' };
    const spoilt = (more: object) => post('/v1/consume-batch', { checks: [good, { ...good, ...more }] });
    expect(await spoilt({ cost: -1 })).toMatchObject({ status: 400, field: 'checks[1].cost' });
    expect(await spoilt({ plan: 'no' })).toMatchObject({ status: 400, field: 'checks[1].plan' });
    expect(await spoilt({ subject: [] })).toMatchObject({ status: 400, field: 'checks[1].subject' });
    expect(await spoilt({ policy: 'per-kee' })).toMatchObject({ status: 404, field: 'checks[1].policy' });
    expect(await remaining('per-key', 'd')).toBe(5);
    expect(await post('/v1/consume-batch', { checks: [] })).toMatchObject({ status: 400, field: 'checks' });
    const many = Array.from({ length: 101 }, () => good);
    expect(await post('/v1/consume-batch', { checks: many })).toMatchObject({ status: 400, field: 'checks' });
  });
});

const withoutStatus = ({ status: _, ...json }: Json): Json => json;

describe('refund', () => {
  test('gives back once, whole or in part, what a decision charged', async () => {
    const decision = withoutStatus(await post('/v1/consume', { policy: 'per-key', subject: 'e', cost: 4 }));
    expect(await post('/v1/refund', { decision, amount: 1 })).toEqual({ status: 200, refunded: true });
    expect(await remaining('per-key', 'e')).toBe(2);
    expect(await post('/v1/refund', { decision })).toEqual({ status: 200, refunded: false });
    expect(await remaining('per-key', 'e')).toBe(2);
  });

  test('needs only what tells the charge', async () => {
    const { allowed, policy, subject, cost, id, atUs } = await post('/v1/consume', { policy: 'per-key', subject: 'f' });
    expect(
      await post('/v1/refund', { decision: { allowed, policy, subject, cost, id, atUs, limits: [] } }),
    ).toMatchObject({
      refunded: true,
    });
    expect(await remaining('per-key', 'f')).toBe(5);
  });

  test('frees a place of a concurrency limit', async () => {
    const ask = { policy: 'places', subject: ['k'] };
    const decision = withoutStatus(await post('/v1/consume', ask));
    expect(await post('/v1/consume', ask)).toMatchObject({ allowed: false });
    expect(await post('/v1/refund', { decision })).toMatchObject({ refunded: true });
    expect(await post('/v1/consume', ask)).toMatchObject({ allowed: true });
  });

  test('refuses what no decision can be', async () => {
    const decision = withoutStatus(await post('/v1/consume', { policy: 'per-key', subject: 'g', cost: 2 }));
    const spoilt = (more: object, rest: object = {}) =>
      post('/v1/refund', { decision: { ...decision, ...more }, ...rest });
    expect(await spoilt({ id: '../x' })).toMatchObject({ status: 400, field: 'decision.id' });
    expect(await spoilt({ atUs: -1 })).toMatchObject({ status: 400, field: 'decision.atUs' });
    expect(await spoilt({ allowed: false })).toMatchObject({ status: 400, field: 'decision' });
    expect(await spoilt({ policy: 'nobody' })).toMatchObject({ status: 404, field: 'decision.policy' });
    expect(await spoilt({ limits: [{}] })).toMatchObject({ status: 400, field: 'decision.limits[0].id' });
    expect(await spoilt({}, { amount: 3 })).toMatchObject({ status: 400, field: 'amount' });
    expect(await spoilt({ id: 'madeup' })).toMatchObject({ status: 200 });
    expect(await remaining('per-key', 'g')).toBeLessThanOrEqual(5);
  });
});

describe('reserve and settle', () => {
  test('puts the real cost in place of the estimate, once', async () => {
    const reservation = withoutStatus(await post('/v1/reserve', { policy: 'per-key', subject: 'h', cost: 4 }));
    expect(reservation).toMatchObject({ allowed: true, holdMs: 300_000, onExpiry: 'release' });
    expect(await remaining('per-key', 'h')).toBe(1);
    expect(await post('/v1/settle', { reservation, cost: 1 })).toMatchObject({ status: 200, settled: true });
    expect(await remaining('per-key', 'h')).toBe(4);
    expect(await post('/v1/settle', { reservation, cost: 1 })).toMatchObject({
      settled: false,
      reason: 'already-settled',
    });
    expect(await post('/v1/refund', { decision: reservation })).toMatchObject({ refunded: false });
    expect(await remaining('per-key', 'h')).toBe(4);
  });

  test('a cost of 0 cancels, and options are those of the library', async () => {
    const asked = { policy: 'per-key', subject: 'i', cost: 2, holdMs: 1000, onExpiry: 'keep' };
    const reservation = withoutStatus(await post('/v1/reserve', asked));
    expect(reservation).toMatchObject({ holdMs: 1000, onExpiry: 'keep' });
    expect(await post('/v1/settle', { reservation, cost: 0 })).toMatchObject({ settled: true });
    expect(await remaining('per-key', 'i')).toBe(5);
    const nothing = await post('/v1/reserve', { ...asked, cost: 0 });
    expect(nothing).toMatchObject({ status: 400, field: 'cost', detail: 'cost: expected a number from 1, got 0' });
    expect(await post('/v1/reserve', { ...asked, holdMs: 0 })).toMatchObject({ status: 400, field: 'holdMs' });
    const refused = withoutStatus(await post('/v1/reserve', { ...asked, cost: 6 }));
    expect(await post('/v1/settle', { reservation: refused, cost: 1 })).toMatchObject({
      status: 400,
      field: 'reservation',
    });
  });
});
