import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { onAbort } from '../../../packages/comporta/src/core/abort.js';

test('a signal that many calls share has one listener, and none when all are answered', () => {
  const { signal } = new AbortController();
  const forgets = Array.from({ length: 50 }, () => onAbort(signal, () => undefined));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  for (const forget of forgets) forget();
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

test('an abort reaches each that still waits, once', () => {
  const controller = new AbortController();
  const heard: number[] = [];
  const forgets = [1, 2, 3].map((n) => onAbort(controller.signal, () => heard.push(n)));
  forgets[1]?.();
  controller.abort();
  controller.abort();
  expect(heard).toEqual([1, 3]);
});
