import { type Check, type Combined, decideAll, type Limiter, memoryStore, slidingWindow, tokenBucket } from 'comporta';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock, flush } from '../../support/fake-clock.js';
import { refusalOf } from '../../support/refusal.js';
import { admits, refuses, scripted, unavailable } from './scripted-store.js';

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeEach(() => void process.on('unhandledRejection', note));
afterEach(async () => {
  await flush();
  process.off('unhandledRejection', note);
  expect(unhandled.splice(0)).toEqual([]);
});

/** Limiters of these sizes on one memory store and one clock that stands still. */
function limitersOf(sizes: readonly number[]): readonly Limiter[] {
  const clock = new FakeClock();
  const store = memoryStore({ clock });
  return sizes.map((size, i) =>
    wire({ policy: `p${i}`, limits: tokenBucket({ capacity: size, refill: 1, every: '1d' }), store }, clock),
  );
}

const checksOf = (limiters: readonly Limiter[], costs: readonly number[]): Check[] =>
  limiters.map((limiter, i) => ({ limiter, subject: `s${i}`, cost: costs[i] ?? 1 }));

const left = (limiters: readonly Limiter[]): Promise<(number | undefined)[]> =>
  Promise.all(limiters.map(async (limiter, i) => (await limiter.peek(`s${i}`, { cost: 0 })).binding?.remaining));

describe('several subjects', () => {
  test('are charged when all admit, and the decisions stand in the order of the checks', () => {
    const limiters = limitersOf([5, 6, 7]);
    const { allowed, decisions } = decideAll(checksOf(limiters, [1, 2, 3])) as Combined;
    expect(allowed).toBe(true);
    expect(decisions.map(({ policy, subject, cost }) => [policy, subject, cost])).toEqual([
      ['p0', 's0', 1],
      ['p1', 's1', 2],
      ['p2', 's2', 3],
    ]);
  });

  test.each([0, 1, 2])('get their charges back when number %i refuses', async (refusing) => {
    const sizes = [5, 5, 5].map((size, i) => (i === refusing ? 1 : size));
    const limiters = limitersOf(sizes);
    const { allowed, decisions } = await decideAll(checksOf(limiters, [2, 2, 2]));
    expect(allowed).toBe(false);
    expect(decisions.map((decision) => decision.allowed)).toEqual(sizes.map((size) => size > 1));
    await flush();
    expect(await left(limiters)).toEqual(sizes);
  });

  test('take the cost of the call where the check has none', async () => {
    const [limiter] = limitersOf([5]) as [Limiter];
    const { decisions } = await decideAll(
      [
        { limiter, subject: 'a' },
        { limiter, subject: 'b', cost: 1 },
      ],
      { cost: 3 },
    );
    expect(decisions.map(({ cost }) => cost)).toEqual([3, 1]);
  });

  test('never pass more than any of them allows, and refused rounds cost nobody anything', async () => {
    const size = fc.integer({ min: 1, max: 6 });
    const round = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 3, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(fc.tuple(size, size, size), fc.array(round, { maxLength: 12 }), async (sizes, rounds) => {
        const limiters = limitersOf(sizes);
        const model = [...sizes] as number[];
        for (const costs of rounds) {
          const { allowed } = await decideAll(checksOf(limiters, costs));
          await flush();
          const fits = costs.every((cost, i) => cost <= (model[i] as number));
          expect(allowed).toBe(fits);
          if (fits) for (const [i, cost] of costs.entries()) model[i] = (model[i] as number) - cost;
          expect(await left(limiters)).toEqual(model);
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('over stores that take time', () => {
  const limits = slidingWindow({ limit: 5, window: '1s' });
  const three = () => [scripted({ limits }), scripted({ limits }), scripted({ limits })] as const;
  const ask = (parts: readonly { readonly limiter: Limiter }[]) =>
    Promise.resolve(decideAll(parts.map(({ limiter }, i) => ({ limiter, subject: `s${i}` }))));

  test('all are asked at once and the answer waits for the last', async () => {
    const parts = three();
    const answer = ask(parts);
    expect(parts.map(({ store }) => store.calls.length)).toEqual([1, 1, 1]);
    for (const i of [2, 0, 1] as const) parts[i].store.call(0).resolve(admits(i));
    const { allowed, decisions } = await answer;
    expect(allowed).toBe(true);
    expect(decisions.map(({ binding }) => binding?.remaining)).toEqual([0, 1, 2]);
  });

  test('only what was charged is given back, and the answer does not wait for it', async () => {
    const parts = three();
    const answer = ask(parts);
    parts[0].store.call(0).resolve(admits());
    parts[1].store.call(0).resolve(refuses(300));
    parts[2].store.call(0).resolve(refuses(100));
    const { allowed, decisions } = await answer;
    expect(allowed).toBe(false);
    expect(parts.map(({ store }) => store.calls.map(({ operation }) => operation))).toEqual([
      ['consume', 'refund'],
      ['consume'],
      ['consume'],
    ]);
    expect(parts[0].store.call(1).given).toEqual([
      { subject: 's0', decisionId: decisions[0]?.id, atUs: 1_000_000, amount: 1 },
    ]);
  });

  test('a charge that cannot be given back disturbs nobody', async () => {
    const parts = three();
    const answer = ask(parts);
    parts[0].store.call(0).resolve(admits());
    parts[1].store.call(0).resolve(refuses(300));
    parts[2].store.call(0).resolve(admits());
    await answer;
    parts[0].store.call(1).reject(unavailable());
    parts[2].clock.advance(50);
    await flush();
    expect(parts[2].heard).toContain('storeError api timeout');
  });

  test('a limiter that is closed meanwhile disturbs nobody', async () => {
    const parts = three();
    const answer = ask(parts);
    parts[1].store.call(0).resolve(refuses(300));
    await Promise.all(parts.map(({ limiter }) => limiter.close()));
    for (const i of [0, 2] as const) parts[i].store.call(0).resolve(admits());
    expect((await answer).allowed).toBe(false);
  });
});

test('misuse of one check is told and charges none of the others', async () => {
  const limiters = limitersOf([5, 5, 5]);
  const checks = checksOf(limiters, [1, 1, 1.5]);
  expect(refusalOf(() => decideAll(checks))).toMatchObject({ code: 'ERR_COST', field: 'cost' });
  const noSubject = checks.map((check, i) => ({ ...check, cost: 1, subject: i === 1 ? '' : check.subject }));
  expect(refusalOf(() => decideAll(noSubject))).toMatchObject({ code: 'ERR_SUBJECT', field: 'subject' });
  await flush();
  expect(await left(limiters)).toEqual([5, 5, 5]);
});

test('misuse of one check gives back what a slow store charges for another', async () => {
  const [slow, other] = [0, 1].map(() => scripted({ limits: slidingWindow({ limit: 5, window: '1s' }) })) as [
    ReturnType<typeof scripted>,
    ReturnType<typeof scripted>,
  ];
  const checks = [
    { limiter: slow.limiter, subject: 's' },
    { limiter: other.limiter, subject: '' },
  ];
  expect(refusalOf(() => decideAll(checks)).code).toBe('ERR_SUBJECT');
  for (const call of slow.store.calls) call.resolve(admits());
  await flush();
  const asked = slow.store.calls.map(({ operation }) => operation);
  expect(asked.filter((name) => name === 'refund').length).toBe(asked.filter((name) => name === 'consume').length);
  expect(other.store.calls).toEqual([]);
});
