import { expect, onTestFinished, test, vi } from 'vitest';
import { Turns } from '../../../packages/comporta/src/doors/messages/turns.js';

function recorded() {
  const done: unknown[] = [];
  const turns = new Turns((isBusy) => void done.push(isBusy ? 'busy' : 'idle'));
  const release: (() => void)[] = [];
  /** Is done when it is released. */
  const later = (name: string) => () =>
    new Promise<void>((resolve) => release.push(resolve)).then(() => void done.push(name));
  const now = (name: string) => () => void done.push(name);
  return { done, turns, release, later, now };
}

test('what is done at once holds up nothing and tells nobody', () => {
  const { done, turns, now } = recorded();
  for (const name of ['a', 'b', 'c']) turns.run(now(name));
  expect([done, turns.waiting]).toEqual([['a', 'b', 'c'], 0]);
});

test('what comes while something is under way waits, and goes in order of coming', async () => {
  const { done, turns, release, later, now } = recorded();
  turns.run(later('a'));
  turns.run(now('b'));
  turns.run(later('c'));
  turns.run(now('d'));
  expect([done, turns.waiting]).toEqual([['busy'], 3]);
  release[0]?.();
  await vi.waitFor(() => expect(release).toHaveLength(2));
  turns.run(now('e'));
  expect(done).toEqual(['busy', 'a', 'b']);
  release[1]?.();
  await vi.waitFor(() => expect(done.at(-1)).toBe('idle'));
  expect([done, turns.waiting]).toEqual([['busy', 'a', 'b', 'c', 'd', 'e', 'idle'], 0]);
});

test('a fault is thrown to the caller, or on its own when that is gone, and the next have their turns', async () => {
  const { done, turns, release, later, now } = recorded();
  const thrown: (() => void)[] = [];
  vi.stubGlobal('queueMicrotask', (run: () => void) => void thrown.push(run));
  onTestFinished(() => void vi.unstubAllGlobals());
  const fail = () => {
    throw new Error('broken');
  };
  expect(() => turns.run(fail)).toThrow('broken');
  turns.run(() => later('a')().then(fail));
  turns.run(fail);
  turns.run(now('b'));
  release[0]?.();
  await vi.waitFor(() => expect(done.at(-1)).toBe('idle'));
  expect(done).toEqual(['busy', 'a', 'b', 'idle']);
  expect(thrown).toHaveLength(2);
  for (const run of thrown) expect(run).toThrow('broken');
});
