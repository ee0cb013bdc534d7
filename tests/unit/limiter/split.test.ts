import { type Decision, fixedWindow, type Limiter, type LimiterOptions, slidingWindow, tokenBucket } from 'comporta';
import { describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { rankIn } from '../../../packages/comporta/src/limiter/split.js';
import { FakeClock } from '../../support/fake-clock.js';
import { type AskedOf, memoryOf, remoteStore } from './remote.js';

const PARTS = 4;
const LIMIT = 100;
const window = slidingWindow({ limit: LIMIT, window: '1s' });

interface Started {
  readonly clock: FakeClock;
  readonly limiter: Limiter;
  /** Another process that shares the store. */
  readonly other: Limiter;
  /** What the store was asked since it was looked at last. */
  asked(): string[];
}

function wordOf({ operation, given: [first] }: AskedOf): string {
  const { kind, cost } = first as { kind?: string; cost?: number };
  return operation === 'act' ? `${kind} ${cost}` : operation;
}

function started(options: Partial<LimiterOptions> = {}): Started {
  const [clock, words] = [new FakeClock(), [] as string[]];
  const memory = memoryOf(clock);
  const open = (): Limiter => {
    const store = remoteStore(memory, clock, { onAsked: (asked) => words.push(wordOf(asked)), peers: () => 1 });
    return wire({ policy: 'p', limits: window, store, split: { parts: PARTS }, ...options }, clock);
  };
  return { clock, limiter: open(), other: open(), asked: () => words.splice(0) };
}

async function ask(limiter: Limiter, times: number, cost = 1): Promise<Decision[]> {
  const decisions: Decision[] = [];
  for (let i = 0; i < times; i++) decisions.push(await limiter.consume('hot', { cost }));
  return decisions;
}

const left = async (limiter: Limiter): Promise<number | undefined> => (await limiter.peek('hot')).limits[0]?.remaining;

describe('a subject in four parts', () => {
  test('asks them in turn, from any of them on, and says of each decision which it was', async () => {
    const { limiter, asked } = started();
    const ranks = (await ask(limiter, 8)).map(({ id }) => rankIn(id) as number);
    const first = ranks[0] as number;
    expect(ranks).toEqual(Array.from({ length: 8 }, (_, i) => (first + i) % PARTS));
    expect(asked()).toEqual(Array.from({ length: 8 }, () => 'consume'));
  });

  test('is told as a whole: its own name, the whole limit, and as much left as the part has, times four', async () => {
    const { limiter } = started();
    const [decision] = await ask(limiter, 1);
    expect(decision).toMatchObject({ subject: 'hot', allowed: true });
    expect(decision?.limits).toEqual([
      expect.objectContaining({ id: 'slidingWindow', limit: 100, windowMs: 1000, remaining: 96, retryAfterMs: 0 }),
    ]);
  });

  test('admits the limit and not one more, whoever asks', async () => {
    const { limiter, other } = started();
    const decisions = [...(await ask(limiter, 120)), ...(await ask(other, 120))];
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(LIMIT);
  });

  test('shares out what cannot be divided, too', async () => {
    const { limiter } = started({ limits: slidingWindow({ limit: 103, window: '1s' }) });
    expect(await left(limiter)).toBe(103);
    const decisions = await ask(limiter, 150);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(103);
    expect(await left(limiter)).toBe(0);
  });

  test('asks one other part after a refusal, tells of one decision, and names the earlier of both times', async () => {
    const { limiter, clock, asked } = started();
    const told: Decision[] = [];
    const denied: Decision[] = [];
    for (let i = 0; i < PARTS; i++) {
      await limiter.consume('hot', { cost: 25 });
      clock.advance(100);
    }
    asked();
    limiter.on('decision', ({ decision }) => told.push(decision));
    limiter.on('denied', ({ decision }) => denied.push(decision));
    const [decision] = await ask(limiter, 1);
    expect(asked()).toEqual(['consume', 'consume']);
    // The part whose turn it is was charged 400 ms ago, the one opposite 200 ms.
    expect(decision).toMatchObject({ allowed: false, reason: 'limit-exceeded', retryAfterMs: 600 });
    expect(told).toEqual([decision]);
    expect(denied).toEqual([decision]);
  });

  test('finds the room that another part has', async () => {
    const { limiter, asked } = started();
    const decisions = await ask(limiter, 3, 25);
    const ranks = decisions.map(({ id }) => rankIn(id) as number);
    await limiter.refund(decisions[2] as Decision);
    await limiter.consume('hot', { cost: 25 });
    asked();
    const [found] = await ask(limiter, 1);
    expect(found?.allowed).toBe(true);
    expect(rankIn(found?.id as string)).toBe(ranks[2]);
    expect(asked()).toEqual(['consume', 'consume']);
  });

  test('refuses for ever what no part can admit, and asks once', async () => {
    for (const limit of [100, 103]) {
      const { limiter, asked } = started({ limits: slidingWindow({ limit, window: '1s' }) });
      for (let i = 0; i < 5; i++) {
        const decision = await limiter.consume('hot', { cost: 26 });
        expect(decision).toMatchObject({ allowed: false, reason: 'cost-exceeds-limit', retryAfterMs: null });
        expect(asked()).toEqual(['consume']);
      }
      expect(await limiter.peek('hot', { cost: 26 })).toMatchObject({ reason: 'cost-exceeds-limit' });
      expect(await limiter.wait('hot', { cost: 26 })).toMatchObject({ reason: 'cost-exceeds-limit' });
    }
  });

  test('shows all its parts together to who looks', async () => {
    const { limiter, other, asked } = started();
    await ask(limiter, 10);
    asked();
    expect(await left(other)).toBe(90);
    expect(asked()).toEqual(['peek', 'peek', 'peek', 'peek']);
    await ask(limiter, 90);
    expect(await other.peek('hot')).toMatchObject({ allowed: false, reason: 'limit-exceeded' });
    expect((await other.consume('hot', { cost: 0 })).limits[0]?.remaining).toBe(0);
  });

  test('gives back where it was charged, in another process too, and once', async () => {
    const { limiter, other } = started();
    const decisions = await ask(limiter, 10, 3);
    expect(await left(other)).toBe(70);
    for (const decision of decisions) expect(await other.refund(decision)).toBe(true);
    expect(await left(other)).toBe(LIMIT);
    for (const decision of decisions) expect(await limiter.refund(decision)).toBe(false);
  });

  test('settles a reservation where it was made, in another process too', async () => {
    const { limiter, other } = started();
    for (const onExpiry of ['release', 'keep'] as const) {
      const made = await limiter.reserve('hot', { cost: 10, onExpiry });
      const reservation = JSON.parse(JSON.stringify(made));
      expect(await other.settle(reservation, 4)).toMatchObject({ settled: true });
      expect(await other.cancel(reservation)).toMatchObject({ settled: false, reason: 'already-settled' });
    }
    expect(await left(limiter)).toBe(92);
  });

  test('says of decisions by a part that it does not have that it does not know them', async () => {
    const { limiter } = started();
    const made = await limiter.reserve('hot', { cost: 2 });
    const elsewhere = { ...made, id: made.id.replace(/\.\w+$/, '.7') };
    expect(await limiter.settle(elsewhere, 1)).toMatchObject({ settled: false, reason: 'limits-unknown' });
    expect(await limiter.refund({ ...(await limiter.consume('hot')), id: 'abc.7' })).toBe(false);
  });

  test('gives back what was charged before it was split', async () => {
    const { clock } = started();
    const memory = memoryOf(clock);
    const options = { policy: 'p', limits: window };
    const before = wire({ ...options, store: remoteStore(memory, clock) }, clock);
    const after = wire({ ...options, store: remoteStore(memory, clock), split: { parts: PARTS } }, clock);
    expect(await after.refund(await before.consume('hot'))).toBe(true);
    expect((await before.peek('hot')).limits[0]?.remaining).toBe(LIMIT);
  });

  test('forgets all its parts, and what there was before it was split', async () => {
    const { limiter, other } = started();
    await ask(limiter, 10);
    expect((await limiter.reset('hot')).keysRemoved).toBe(PARTS);
    expect(await left(other)).toBe(LIMIT);
  });

  test('takes a charge and a reward in all its parts', async () => {
    const { limiter, other } = started();
    expect(await limiter.charge('hot', 42)).toMatchObject([{ remaining: 58, limit: 100 }]);
    expect(await left(other)).toBe(58);
    expect(await other.reward('hot', 40)).toMatchObject([{ remaining: 98 }]);
    await limiter.charge('hot', 100);
    expect(await ask(limiter, 8)).toMatchObject(Array.from({ length: 8 }, () => ({ allowed: false })));
  });

  test.each([
    ['settle', 240],
    ['charge', 182],
  ])('keeps a debt of %s in the part that has it, and admits what the others have: %i of 160', async (by, passed) => {
    const { limiter } = started({ split: { parts: 8 }, limits: slidingWindow({ limit: 160, window: '1s' }) });
    const forced = by === 'settle' ? 100 : 30;
    if (by === 'settle') await limiter.settle(await limiter.reserve('hot', { cost: 5 }), forced);
    else expect((await ask(limiter, 6, 20)).every(({ allowed }) => allowed)).toBe(true);
    if (by === 'charge') await limiter.charge('hot', forced);
    const room = (await left(limiter)) as number;
    const after = (await ask(limiter, 300)).filter(({ allowed }) => allowed).length;
    expect(after).toBe(room);
    expect((by === 'settle' ? 0 : 120) + forced + after).toBe(passed);
    expect(await left(limiter)).toBe(0);
  });

  test('lets what a slow bucket regains pass in bursts, and no more in the long run', async () => {
    const slow = tokenBucket({ capacity: 128, refill: 1, every: '1s' });
    const { limiter, clock } = started({ split: { parts: 8 }, limits: slow });
    const pass = async (times: number) => (await ask(limiter, times)).filter(({ allowed }) => allowed).length;
    expect(await pass(300)).toBe(128);
    await clock.pass(7999);
    expect(await pass(50)).toBe(0);
    await clock.pass(1);
    expect(await pass(50)).toBe(8);
  });

  test('takes as much as one part has room for', async () => {
    const { limiter } = started();
    const taken: number[] = [];
    for (let i = 0; i < 6; i++) taken.push((await limiter.consumeUpTo('hot', 40)).cost);
    expect(taken).toEqual([25, 25, 25, 25, 0, 0]);
  });

  test('lets those wait who find no room', async () => {
    const { limiter, clock } = started();
    await ask(limiter, 4, 25);
    const waiting = limiter.wait('hot', { maxWaitMs: 5000 });
    await clock.pass(1100);
    expect(await waiting).toMatchObject({ allowed: true });
  });
});

test('subjects that are not listed are whole', async () => {
  const { limiter, asked } = started({ split: { parts: PARTS, subjects: ['all'] } });
  const [decision] = await ask(limiter, 1, 60);
  expect(decision).toMatchObject({ allowed: true, limits: [{ remaining: 40 }] });
  expect(rankIn(decision?.id as string)).toBeUndefined();
  expect((await limiter.consume('all', { cost: 60 })).reason).toBe('cost-exceeds-limit');
  expect(asked()).toHaveLength(2);
});

test('plans are divided like the limits of the policy', async () => {
  const { limiter } = started({ plans: { pro: fixedWindow({ limit: 400, window: '1h' }) }, planOf: () => 'pro' });
  const decisions = await ask(limiter, 450);
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(400);
  expect(await limiter.refund(decisions[0] as Decision)).toBe(true);
});

test('over a memory store nothing is split', async () => {
  const clock = new FakeClock();
  const limiter = wire({ policy: 'p', limits: window, store: memoryOf(clock), split: { parts: PARTS } }, clock);
  expect(await limiter.consume('hot', { cost: 100 })).toMatchObject({ allowed: true, limits: [{ remaining: 0 }] });
});

test('leases of all parts together keep to the bound of the whole', async () => {
  const { limiter, asked, other } = started({
    limits: slidingWindow({ limit: 4000, window: '1s' }),
    lease: { maxOvershoot: 40 },
  });
  expect(limiter.leaseBounds).toEqual([{ id: 'slidingWindow', units: 40 }]);
  const decisions = await ask(limiter, 400);
  expect(decisions.every(({ allowed }) => allowed)).toBe(true);
  const words = asked();
  expect(words.length).toBeLessThan(120);
  const ahead = words.filter((word) => word.startsWith('take')).map((word) => Number(word.slice(5)));
  // A quarter of 40 for each part, and sometimes the cost of a request beside it.
  expect(Math.max(...ahead)).toBeGreaterThanOrEqual(10);
  expect(Math.max(...ahead)).toBeLessThanOrEqual(11);
  const unused = 3600 - ((await other.peek('hot')).limits[0]?.remaining ?? 0);
  expect(unused).toBeGreaterThan(0);
  expect(unused).toBeLessThanOrEqual(40);
  await limiter.close();
  expect(await left(other)).toBe(3600);
});
