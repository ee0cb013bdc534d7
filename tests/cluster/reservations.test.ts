import { createLimiter, type Limiter, type Reservation, type Store } from 'comporta';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { budgetOf } from '../support/budgets.js';
import { type Cluster, startCluster } from '../support/cluster.js';
import { sleep, until } from '../support/wait.js';
import { startWorkers } from '../support/workers.js';
import type { Fate, MortalArgs, Plan } from './reservations-mortal.js';
import { openStore, randomFrom } from './reservations-rules.js';
import type { SpendArgs, Spent } from './reservations-worker.js';
import { callsOf } from './stats.js';

const PROCESSES = 4;
const CALLERS = 5;
const LIMIT = 400;
const SPENDING = ['tokenBucket', 'slidingWindow', 'fixedWindow', 'quota'];
const KINDS = [...SPENDING, 'slidingWindowCounter'];

/** Texts that stores trim, join, decode or cut. */
const ODD = [
  ' a',
  'a\0',
  '{a}',
  '{}a',
  'a:b',
  'a}:b',
  '%25',
  '__proto__',
  '\ud800',
  'é',
  'x'.repeat(129),
  'x'.repeat(2 ** 20),
];

let cluster: Cluster;
let opened: { readonly store: Store; close(): Promise<void> };
let second: { readonly store: Store; close(): Promise<void> };
beforeAll(async () => {
  cluster = await startCluster();
  opened = openStore(cluster.url, false);
  second = openStore(cluster.url, true);
  for (const { store } of [opened, second]) {
    for (let i = 0; i < 30; i++) {
      const isThere = async () => (await limiterOn('warm', 'quota', 1, store).peek(`${i}`)).degraded === undefined;
      await until(isThere, { what: 'a decision of each node' });
    }
  }
});
afterAll(async () => {
  await opened?.close();
  await second?.close();
  await cluster?.stop();
});

function limiterOn(policy: string, kind: string, limit: number, store: Store = opened.store): Limiter {
  return createLimiter({ policy, limits: budgetOf(kind, limit), store, timeoutMs: 20_000, onStoreFailure: 'closed' });
}

const left = async (limiter: Limiter, subject: string): Promise<number | undefined> =>
  (await limiter.peek(subject)).limits[0]?.remaining;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** Least that was charged at its highest: what is granted counts from its answer, what is given back from its call. */
function peak(spent: readonly Spent[]): number {
  const events = spent.flatMap(({ reserved, real, grantedUs, settlingUs }) => [
    { atUs: grantedUs, by: reserved },
    { atUs: settlingUs, by: real - reserved },
  ]);
  events.sort((a, b) => a.atUs - b.atUs || a.by - b.by);
  let [now, most] = [0, 0];
  for (const { by } of events) {
    now += by;
    most = Math.max(most, now);
  }
  return most;
}

describe.each([
  ['never more than was reserved', 1],
  ['up to three times what was reserved', 3],
])('twenty callers in four processes whose calls cost %s', (_, mostTimes) => {
  let spent: Spent[];
  const limit = LIMIT * mostTimes;
  beforeAll(async () => {
    for (const server of cluster.primaries) await server.command('FLUSHALL');
    const args: SpendArgs = { url: cluster.url, kinds: SPENDING, limit, callers: CALLERS, attempts: 40, mostTimes };
    await using workers = startWorkers<Spent[]>(PROCESSES, new URL('./reservations-worker.ts', import.meta.url), args);
    await workers.receive();
    workers.send('go');
    spent = (await workers.results()).flat();
  });

  test.each(SPENDING)('%s never spends more than its budget and the debts of those that cost more', async (kind) => {
    const mine = spent.filter((one) => one.kind === kind);
    expect(mine.filter(({ isSettled }) => !isSettled)).toEqual([]);
    const real = sum(mine.map((one) => one.real));
    const debt = sum(mine.map((one) => Math.max(0, one.real - one.reserved)));
    expect(real).toBeLessThanOrEqual(limit + debt);
    expect(real).toBeGreaterThan(limit / 2);
    if (mostTimes === 1) {
      expect(debt).toBe(0);
      expect(peak(mine)).toBeLessThanOrEqual(limit);
    }
    const limiter = limiterOn(kind, kind, limit);
    expect(await left(limiter, 'budget')).toBe(Math.max(0, limit - real));
    // Some were refused, so that the budget is what ended the spending.
    expect(mine.length).toBeLessThan(PROCESSES * CALLERS * 40);
  });
});

test('the check of the highest point notices one reservation too many', () => {
  const one: Spent = { kind: 'k', reserved: 10, real: 4, grantedUs: 1, settlingUs: 5, isSettled: true };
  expect(peak([one, { ...one, grantedUs: 3, settlingUs: 9 }])).toBe(20);
  expect(peak([one, { ...one, grantedUs: 6, settlingUs: 9 }])).toBe(14);
});

test('a thousand histories of settling, cancelling and dying end with the exact balance', async () => {
  const shortHoldMs = 2000;
  const random = randomFrom(7);
  const fates: readonly Fate[] = ['self', 'other', 'other', 'both', 'nobody', 'nobody'];
  const histories = Array.from({ length: 1000 }, (_, i) => ({ kind: KINDS[i % 5] as string, subject: `history-${i}` }));
  const plans = histories.flatMap(({ kind, subject }) =>
    Array.from({ length: 1 + random(4) }, (): Plan => {
      const cost = 1 + random(20);
      return { kind, subject, cost, fate: fates[random(6)] as Fate, real: random(3) === 0 ? 0 : random(25) };
    }),
  );
  const partOf = (index: number) => plans.filter((_, i) => i % PROCESSES === index);
  const argsOf = (index: number): MortalArgs => ({ url: cluster.url, limit: 200, plans: partOf(index), shortHoldMs });
  const limiters = new Map(KINDS.map((kind) => [kind, limiterOn(`m-${kind}`, kind, 200)]));
  const settle = async (plan: Plan, text: string, real: number): Promise<string> =>
    (await (limiters.get(plan.kind) as Limiter).settle(JSON.parse(text) as Reservation, real)).reason ?? 'settled';

  await using workers = startWorkers(PROCESSES, new URL('./reservations-mortal.ts', import.meta.url), argsOf);
  const made = await workers.receive<{ own: string[]; texts: string[] }>();
  workers.send('go');
  const [theirs, ours] = await Promise.all([
    workers.receive<string[]>(),
    Promise.all(
      made.map(({ texts }, w) =>
        Promise.all(
          partOf(w).map((plan, i) =>
            plan.fate === 'other' || plan.fate === 'both' ? settle(plan, texts[i] as string, plan.real) : '',
          ),
        ),
      ),
    ),
  ]);
  await workers.receive();
  for (const worker of workers.all) worker.kill();
  await workers.stop();
  await sleep(shortHoldMs + 100);

  const used = new Map<string, number>();
  const counts = { self: 0, other: 0, both: 0, nobody: 0 };
  for (const [w, { own, texts }] of made.entries()) {
    for (const [i, plan] of partOf(w).entries()) {
      const [mine, its] = [ours[w]?.[i], theirs[w]?.[i]];
      counts[plan.fate]++;
      const real = {
        self: plan.real + 1,
        other: plan.real,
        both: mine === 'settled' ? plan.real : plan.real + 1,
        nobody: 0,
      };
      used.set(plan.subject, (used.get(plan.subject) ?? 0) + real[plan.fate]);
      if (plan.fate === 'self') expect(own[i]).toBe('settled');
      if (plan.fate === 'other') expect(mine).toBe('settled');
      if (plan.fate === 'both') expect([mine, its].toSorted()).toEqual(['already-settled', 'settled']);
      const late = plan.fate === 'nobody' ? 'expired' : 'already-settled';
      if (random(4) === 0) expect(await settle(plan, texts[i] as string, 0)).toBe(late);
    }
  }
  for (const { kind, subject } of histories) {
    const limiter = limiters.get(kind) as Limiter;
    const sweeping = await limiter.reserve(subject, { cost: 1 });
    if (sweeping.allowed) await limiter.cancel(sweeping);
    expect([subject, await left(limiter, subject)]).toEqual([subject, 200 - (used.get(subject) as number)]);
  }
  expect(Math.min(...Object.values(counts))).toBeGreaterThan(200);
  console.log(`1000 histories: ${JSON.stringify(counts)}`);
});

test('hostile subjects are reserved for and settled through another client', async () => {
  const [one, other] = [limiterOn('odd', 'slidingWindow', 10), limiterOn('odd', 'slidingWindow', 10, second.store)];
  for (const subject of ODD) {
    const reservation = await one.reserve(subject, { cost: 6 });
    expect(reservation.allowed).toBe(true);
    expect((await other.settle(JSON.parse(JSON.stringify(reservation)), 2)).settled).toBe(true);
    expect(await left(one, subject)).toBe(8);
  }
});

describe.each(KINDS)('%s', (kind) => {
  test('a reset between leaves nothing to settle, and what came after it untouched', async () => {
    const limiter = limiterOn('between', kind, 10);
    const reservation = await limiter.reserve(kind, { cost: 4 });
    await limiter.reset(kind);
    await limiter.consume(kind, { cost: 3 });
    expect((await limiter.settle(reservation, 1)).reason).toBe('expired');
    expect((await limiter.settle(reservation, 9)).reason).toBe('expired');
    expect(await left(limiter, kind)).toBe(7);
  });

  test('a refund settles, in whole or in part, and nothing is given back twice', async () => {
    const limiter = limiterOn('refund', kind, 20);
    await limiter.consume(kind, { cost: 5 });
    const [whole, part] = [
      await limiter.reserve(kind, { cost: 4, holdMs: 1500 }),
      await limiter.reserve(kind, { cost: 6, holdMs: 1500 }),
    ];
    expect([await limiter.refund(whole), await limiter.refund(part, 2)]).toEqual([true, true]);
    expect([await limiter.refund(whole), (await limiter.settle(part, 0)).reason]).toEqual([false, 'already-settled']);
    expect(await left(limiter, kind)).toBe(11);
    await sleep(1600);
    await limiter.cancel(await limiter.reserve(kind));
    expect(await left(limiter, kind)).toBe(11);
  });
});

test('thousands of reservations of one subject are given back a hundred per call, in one walk', async () => {
  const limiter = limiterOn('many', 'slidingWindow', 10_000);
  const holdMs = 6000;
  for (let i = 0; i < 10; i++)
    await Promise.all(Array.from({ length: 300 }, () => limiter.reserve('many', { holdMs })));
  await sleep(holdMs + 100);
  const before = (await left(limiter, 'many')) as number;
  for (let round = 1; round <= 5; round++) {
    const written = await callsOf(cluster.primaries, 'zadd');
    expect((await limiter.reserve('many')).allowed).toBe(true);
    // One walk over the log, and not one for each that is given back.
    expect((await callsOf(cluster.primaries, 'zadd')) - written).toBeLessThanOrEqual(3000 + round + 1);
    expect(await left(limiter, 'many')).toBe(before + 99 * round);
  }
});
