import { concurrency, type Decision, decideAll, decideEach, memoryStore, tokenBucket } from 'comporta';
import { expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock, flush } from '../../support/fake-clock.js';
import { refusalOf } from '../../support/refusal.js';
import { admits, refuses, scripted } from './scripted-store.js';

const bucket = (capacity: number) => tokenBucket({ capacity, refill: 1, every: '1d' });

function limitersOf(limits: Readonly<Record<string, Parameters<typeof wire>[0]['limits']>>) {
  const clock = new FakeClock();
  const store = memoryStore({ clock });
  return Object.entries(limits).map(([policy, of]) =>
    wire({ policy, limits: of, plans: { pro: bucket(100) }, store }, clock),
  ) as [ReturnType<typeof wire>, ReturnType<typeof wire>];
}

test('a place under a concurrency limit is free again when another subject of the request refuses', async () => {
  const [places, budget] = limitersOf({ places: concurrency({ limit: 1 }), budget: bucket(1) });
  const checks = [
    { limiter: places, subject: 'user' },
    { limiter: budget, subject: 'tenant' },
  ];
  const first = await decideAll(checks);
  expect(first.allowed).toBe(true);
  expect(await places.refund(first.decisions[0] as Decision)).toBe(true);
  const second = await decideAll(checks);
  expect(second.decisions.map(({ allowed }) => allowed)).toEqual([true, false]);
  await flush();
  expect((await places.peek('user')).binding?.remaining).toBe(1);
});

test('who waits for that place gets it at once', async () => {
  const [places, budget] = limitersOf({ places: concurrency({ limit: 1 }), budget: bucket(1) });
  await budget.consume('tenant');
  const slow = scripted({ limits: bucket(1) });
  const combined = decideAll([
    { limiter: places, subject: 'user' },
    { limiter: slow.limiter, subject: 'tenant' },
  ]);
  const waiting = places.acquire('user', { maxWaitMs: 60_000 });
  slow.store.call(0).resolve(refuses(100));
  expect((await combined).allowed).toBe(false);
  const lease = await waiting;
  expect(lease.allowed, 'the clock stood still').toBe(true);
  await lease.release();
});

test('each check may name its plan, else the plan of the call applies', async () => {
  const [user, tenant] = limitersOf({ user: bucket(1), tenant: bucket(2) });
  const checks = [
    { limiter: user, subject: 'a', plan: 'pro', cost: 3 },
    { limiter: tenant, subject: 'b' },
  ];
  const leftOf = (decisions: readonly Decision[]) => decisions.map(({ binding }) => binding?.remaining);
  expect(leftOf((await decideAll(checks)).decisions)).toEqual([97, 1]);
  expect(leftOf((await decideAll(checks, { plan: 'pro' })).decisions)).toEqual([94, 98]);
  const unknown = [checks[1], { limiter: user, subject: 'a', plan: 'gold' }] as typeof checks;
  expect(refusalOf(() => decideAll(unknown)).code).toBe('ERR_PLAN');
  await flush();
  expect((await tenant.peek('b', { plan: 'pro' })).binding?.remaining, 'given back').toBe(98);
});

test('of a batch each check is decided by itself, and the decisions stand in its order', async () => {
  const [one, other] = limitersOf({ one: bucket(2), other: bucket(1) });
  const subjects = ['a', 'b', 'a', 'a'];
  const batch = [
    ...subjects.map((subject) => ({ limiter: one, subject })),
    { limiter: other, subject: 'a', cost: 2 },
    { limiter: other, subject: 'a' },
  ];
  const decisions = await decideEach(batch);
  expect(decisions.map(({ policy, subject, allowed }) => `${policy} ${subject} ${allowed}`)).toEqual([
    'one a true',
    'one b true',
    'one a true',
    'one a false',
    'other a false',
    'other a true',
  ]);
  await flush();
  expect((await one.peek('a')).binding?.remaining, 'no charge is given back').toBe(0);
  expect(await decideEach([])).toEqual([]);
});

test('a batch asks all at once and answers with the slowest', async () => {
  const { limiter, store } = scripted({ limits: bucket(5) });
  const answer = Promise.resolve(decideEach(['a', 'b', 'c'].map((subject) => ({ limiter, subject }))));
  expect(store.calls.map(({ given }) => given)).toEqual([
    ['a', 1],
    ['b', 1],
    ['c', 1],
  ]);
  for (const i of [2, 0, 1]) store.call(i).resolve(i === 1 ? refuses(100) : admits(i));
  expect((await answer).map(({ allowed }) => allowed)).toEqual([true, false, true]);
  expect(store.calls.length).toBe(3);
});

test('misuse of one check of a batch is thrown, and what was charged before it is given back', async () => {
  const [one] = limitersOf({ one: bucket(2) });
  const batch = [
    { limiter: one, subject: 'a' },
    { limiter: one, subject: 'a', cost: -1 },
  ];
  expect(refusalOf(() => decideEach(batch)).code).toBe('ERR_COST');
  await flush();
  expect((await one.peek('a')).binding?.remaining).toBe(2);
});
