import { type Decision, type Limiter, slidingWindow } from 'comporta';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { type Ended, UnitLease } from '../../../packages/comporta/src/limiter/unit-lease.js';
import { FakeClock, flush } from '../../support/fake-clock.js';
import { type AskedOf, memoryOf, remoteStore } from './remote.js';

const PART = 40;
const WAY_MS = 4;
const LASTS_US = 100_000;

interface Hot {
  readonly clock: FakeClock;
  readonly limiter: Limiter;
  readonly there: Limiter;
  readonly asked: AskedOf[];
}

/** A subject that was asked for once a millisecond until its leases are as large as they get. */
async function hot(): Promise<Hot> {
  const clock = new FakeClock();
  const memory = memoryOf(clock);
  const asked: AskedOf[] = [];
  const store = remoteStore(memory, clock, {
    wayMs: () => WAY_MS,
    peers: () => 1,
    onAsked: (each) => asked.push(each),
  });
  const limits = slidingWindow({ limit: 4000, window: '10s' });
  const lease = { maxOvershoot: PART, lasts: LASTS_US / 1000 };
  const limiter = wire({ policy: 'p', limits, store, lease, timeoutMs: 1000 }, clock);
  await steady(limiter, clock, 300);
  asked.length = 0;
  return { clock, limiter, asked, there: wire({ policy: 'p', limits, store: memory }, clock) };
}

async function steady(limiter: Limiter, clock: FakeClock, times: number): Promise<(Decision | Promise<Decision>)[]> {
  const answers: (Decision | Promise<Decision>)[] = [];
  for (let i = 0; i < times; i++) {
    answers.push(limiter.decide('hot'));
    await clock.pass(1);
  }
  return answers;
}

const costOf = ({ given }: AskedOf): number => (given as [{ cost: number }])[0].cost;

test('nobody waits at a steady pace: units are fetched before the last are used, and no more than fit', async () => {
  const { limiter, clock, asked } = await hot();
  const answers = await steady(limiter, clock, 400);
  expect(answers.filter((answer) => answer instanceof Promise)).toEqual([]);
  expect(asked.every(({ operation }) => operation === 'act')).toBe(true);
  expect(Math.max(...asked.map(costOf))).toBeLessThan(PART);
  expect(Math.min(...asked.map(costOf)), 'calls are not many more for it').toBeGreaterThan(PART * 0.7);
});

test('who comes when they are used up waits for those on their way, and asks for none', async () => {
  const { limiter, clock, asked } = await hot();
  while (asked.length === 0) await steady(limiter, clock, 1);
  const burst = Promise.all(Array.from({ length: PART }, () => limiter.consume('hot')));
  await clock.pass(WAY_MS);
  expect((await burst).every(({ allowed }) => allowed)).toBe(true);
  expect(asked.map(({ operation }) => operation)).toEqual(['act']);
});

test('those on their way are given back too when the limiter is closed', async () => {
  const { limiter, clock, asked, there } = await hot();
  const used = async (): Promise<number> => 4000 - ((await there.peek('hot')).binding?.remaining ?? 0);
  let decided = 300;
  while (asked.length === 0) decided += (await steady(limiter, clock, 1)).length;
  const closing = limiter.close();
  for (let ms = 0; ms < 4 * WAY_MS; ms++) await clock.pass(1);
  await closing;
  await flush();
  expect(await used()).toBe(decided);
});

const steps = fc.array(
  fc.record({
    act: fc.constantFrom('take', 'take', 'take', 'take', 'ask', 'answer', 'end', 'lapse'),
    cost: fc.integer({ min: 1, max: 4 }),
    part: fc.integer({ min: 2, max: 1000 }),
    ms: fc.integer({ min: 0, max: 20 }),
  }),
  { maxLength: 80, size: 'max' },
);

test('whatever happens, what is held and on its way is never more than the part, and no unit is used twice', () => {
  let [ahead, nextUsed] = [0, 0];
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 100 }), steps, (most, history) => {
      const lease = new UnitLease();
      let [nowUs, asked, granted, taken, back] = [0, 0, 0, 0, 0];
      const count = (ended: Ended | undefined): void => {
        back += ended?.left ?? 0;
      };
      let question: { sentUs: number; untilUs: number } | undefined;
      for (const { act, cost, part, ms } of history) {
        nowUs += ms * 1000;
        if (act === 'take') {
          if (lease.take(cost, nowUs) !== undefined) taken += cost;
          else if (lease.hasNext) {
            nextUsed++;
            count(lease.end(nowUs));
          }
        }
        if (act === 'ask' && question === undefined && !lease.hasNext) {
          question = { sentUs: nowUs, untilUs: nowUs + LASTS_US };
          if (lease.held > 0) ahead++;
          asked = lease.ask(most, question.untilUs);
          if (asked === 0) question = undefined;
        }
        if (act === 'answer' && question !== undefined) {
          // The limits may have no more.
          const units = Math.min(asked, part);
          lease.heard(question.untilUs, units);
          const grant = { id: 'd', atUs: 0, numbers: [9, 0, 0, 0], units, heardUs: nowUs, ...question };
          if (nowUs < question.untilUs) {
            lease.put(grant);
            granted += units;
          }
          [asked, question] = [0, undefined];
        }
        if (act === 'end') count(lease.end(nowUs));
        if (act === 'lapse') count(lease.lapse(nowUs));
        if (lease.held + asked > most) throw new Error(`${lease.held} are held and ${asked} asked for, of ${most}`);
        if (taken + back + lease.held !== granted) throw new Error(`of ${granted} units ${taken} were used`);
      }
    }),
    { numRuns: 200 },
  );
  expect(ahead, 'histories in which nothing is fetched ahead prove little').toBeGreaterThan(20);
  expect(nextUsed).toBeGreaterThan(10);
});
