import { EventEmitter } from 'node:events';
import { fixedWindow, memoryStore } from 'comporta';
import { createGate, type Outcome, onNodeEnd } from 'comporta/http';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Finishing } from '../../../packages/comporta/src/http/finish.js';
import { view } from '../identity/view.js';
import { ManualClock } from './stores.js';

/** A response whose life the test decides. */
class Life extends EventEmitter {
  statusCode = 200;
  headersSent = false;
  destroyed = false;
  writableEnded = false;
  writableFinished = false;
  socket: EventEmitter | null = null;
}

const steps: Readonly<Record<string, (life: Life, connection: EventEmitter) => void>> = {
  headers: (life) => {
    life.headersSent = true;
  },
  status: (life) => {
    life.statusCode = 503;
  },
  socket: (life, connection) => {
    life.socket = connection;
  },
  finish: (life) => {
    life.writableEnded = true;
    life.writableFinished = true;
    life.emit('finish');
  },
  close: (life) => {
    life.destroyed = true;
    life.emit('close');
  },
  broken: (_, connection) => void connection.emit('close'),
};

test('whatever happens to a response, its request is settled at most once, and once when it has ended', async () => {
  const step = fc.constantFrom(...Object.keys(steps));
  const limits = fixedWindow({ limit: 5, window: '1d' });
  const policies = [
    { name: 'back', limits, count: () => 0 },
    // Charges after a look have no id by which the store could know them again.
    { name: 'after', limits, cost: 0, count: () => 1 },
  ];
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.array(step, { maxLength: 12 }), async (before, after) => {
      const gate = createGate({ store: memoryStore({ clock: new ManualClock() }), policies });
      const leftOf = async (name: string) =>
        (await gate.limiters.get(name)?.peek('ip=203.0.113.9'))?.limits[0]?.remaining;
      // Somebody else's use: what is given back twice would show as more room.
      for (let i = 0; i < 2; i++) await gate.limiters.get('back')?.consume('ip=203.0.113.9');
      const verdict = await gate.check(view());
      const life = new Life();
      const connection = new EventEmitter();
      for (const name of before) steps[name]?.(life, connection);
      onNodeEnd({ socket: connection }, life, verdict.finish);
      for (const name of after) steps[name]?.(life, connection);
      const hasEnded =
        before.includes('close') ||
        ['finish', 'close'].some((name) => after.includes(name)) ||
        (after.includes('broken') && !before.includes('socket'));
      await new Promise((resolve) => setImmediate(resolve));
      expect([await leftOf('back'), await leftOf('after')]).toEqual(hasEnded ? [3, 4] : [2, 5]);
    }),
    { numRuns: 300 },
  );
});

test('all tasks run once, whatever the others do, and faults are reported, never thrown', async () => {
  const reports: string[] = [];
  const finishing = new Finishing(({ message }) => reports.push(message));
  const done: Outcome[] = [];
  let resolveThird: () => void = () => undefined;
  const finish = finishing.once([
    () => {
      throw new Error('first');
    },
    () => Promise.reject(new Error('second')),
    () =>
      new Promise<void>((resolve) => {
        resolveThird = resolve;
      }),
    (outcome) => done.push(outcome),
  ]);
  finish({ status: 200, aborted: false });
  finish({ status: 500, aborted: true });
  let isSettled = false;
  const settled = finishing.settled().then(() => {
    isSettled = true;
  });
  await Promise.resolve();
  expect(isSettled).toBe(false);
  resolveThird();
  await settled;
  expect(done).toEqual([{ status: 200, aborted: false }]);
  expect(reports).toEqual([expect.stringContaining('first'), expect.stringContaining('second')]);
});

test('where nothing is to be done afterwards, verdicts have no finish', () => {
  const limits = fixedWindow({ limit: 1, window: '1d' });
  const gate = createGate({ policies: [{ name: 'p', limits, count: 'all' }] });
  expect(gate.check(view())).toMatchObject({ allowed: true });
  expect(gate.check(view())).not.toHaveProperty('finish');
  const counting = createGate({ policies: [{ name: 'p', limits, count: 'failures' }] });
  expect(counting.check(view())).toHaveProperty('finish');
  expect(counting.check(view()), 'a refusal charged nothing').not.toHaveProperty('finish');
});
