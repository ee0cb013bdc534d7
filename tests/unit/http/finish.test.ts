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
    life.writableFinished = true;
    life.emit('finish');
  },
  close: (life) => {
    life.destroyed = true;
    life.emit('close');
  },
  broken: (_, connection) => void connection.emit('close'),
};

test('whatever happens to a response, its request is given back at most once, and once when it has ended', () => {
  const step = fc.constantFrom(...Object.keys(steps));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), fc.array(step, { maxLength: 12 }), (before, after) => {
      const gate = createGate({
        store: memoryStore({ clock: new ManualClock() }),
        policies: [{ name: 'p', limits: fixedWindow({ limit: 5, window: '1d' }), count: () => 0 }],
      });
      const limiter = gate.limiters.get('p');
      const left = () => limiter?.decide('ip=203.0.113.9', { cost: 0 });
      // Somebody else's use: what is given back twice would show as more room.
      for (let i = 0; i < 2; i++) limiter?.decide('ip=203.0.113.9');
      const verdict = gate.check(view());
      if (verdict instanceof Promise) throw new TypeError('expected an answer at once');
      const life = new Life();
      const connection = new EventEmitter();
      for (const name of before) steps[name]?.(life, connection);
      onNodeEnd({ socket: connection }, life, verdict.finish);
      for (const name of after) steps[name]?.(life, connection);
      const hasEnded =
        before.includes('close') ||
        ['finish', 'close'].some((name) => after.includes(name)) ||
        (after.includes('broken') && !before.includes('socket'));
      expect(left()).toMatchObject({ limits: [{ remaining: hasEnded ? 3 : 2 }] });
    }),
    { numRuns: 500 },
  );
});

test('all tasks run once, whatever the others do, and faults are reported, never thrown', async () => {
  const reports: string[] = [];
  const finishing = new Finishing(({ message }) => reports.push(message));
  const done: Outcome[] = [];
  let let2: () => void = () => undefined;
  const finish = finishing.once([
    () => {
      throw new Error('first');
    },
    () => Promise.reject(new Error('second')),
    () =>
      new Promise<void>((resolve) => {
        let2 = resolve;
      }),
    (outcome) => done.push(outcome),
  ]);
  finish({ status: 200, aborted: false });
  finish({ status: 500, aborted: true });
  let isIdle = false;
  const idle = finishing.idle().then(() => {
    isIdle = true;
  });
  await Promise.resolve();
  expect(isIdle).toBe(false);
  let2();
  await idle;
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
