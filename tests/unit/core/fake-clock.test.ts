import { expect, test } from 'vitest';
import { FakeClock, flush } from '../../support/fake-clock.js';

test('timers run when they are due, in that order, and see the time they were due at', () => {
  const clock = new FakeClock(0);
  const ran: string[] = [];
  const note = (name: string) => () => void ran.push(`${name} at ${clock.nowUs() / 1000}`);
  clock.startTimer(30, note('c'));
  clock.startTimer(10, note('a'));
  clock.startTimer(10, note('b'));
  clock.advance(9);
  expect(ran).toEqual([]);
  clock.advance(21);
  expect(ran).toEqual(['a at 10', 'b at 10', 'c at 30']);
  expect(clock.timers).toBe(0);
});

test('a timer set by a timer runs in the same move when it is due within it', () => {
  const clock = new FakeClock(0);
  const ran: number[] = [];
  clock.startTimer(10, () => clock.startTimer(10, () => void ran.push(clock.nowUs())));
  clock.advance(25);
  expect(ran).toEqual([20_000]);
  expect(clock.nowUs()).toBe(25_000);
});

test('what waits for promises runs between timers when time passes, and after them when it is advanced', async () => {
  const played = async (move: (clock: FakeClock) => Promise<void> | void) => {
    const [clock, ran] = [new FakeClock(0), [] as string[]];
    clock.startTimer(10, () => void Promise.resolve().then(() => ran.push('promise')));
    clock.startTimer(20, () => void ran.push('timer'));
    await move(clock);
    await flush();
    expect(clock.nowUs()).toBe(30_000);
    return ran;
  };
  expect(await played((clock) => clock.pass(30))).toEqual(['promise', 'timer']);
  expect(await played((clock) => clock.advance(30))).toEqual(['timer', 'promise']);
});

test('a stopped timer never runs', () => {
  const clock = new FakeClock(0);
  const stop = clock.startTimer(10, () => {
    throw new Error('ran');
  });
  stop();
  clock.advance(100);
  expect(clock.timers).toBe(0);
});

test.each([2 ** 31, -1, Number.NaN])('a delay of %s, which a real timer would not keep, is a fault', (delayMs) => {
  expect(() => new FakeClock().startTimer(delayMs, () => undefined)).toThrow(RangeError);
});
