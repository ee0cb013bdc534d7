import { expect, test } from 'vitest';
import { Emitter } from '../../../packages/comporta/src/core/events.js';

interface Events {
  tick: { readonly n: number };
  tock: string;
}

test('every listener of an event gets its payload, in the order of listening; those of other events do not', () => {
  const emitter = new Emitter<Events>();
  const heard: string[] = [];
  emitter.on('tick', ({ n }) => void heard.push(`first ${n}`));
  emitter.on('tick', ({ n }) => void heard.push(`second ${n}`));
  emitter.on('tock', (text) => void heard.push(text));
  emitter.emit('tick', { n: 1 });
  expect(heard).toEqual(['first 1', 'second 1']);
  emitter.emit('tock', 'tock');
  expect(heard).toEqual(['first 1', 'second 1', 'tock']);
});

test('a listener that throws disturbs neither the emitter nor the listeners after it', () => {
  const emitter = new Emitter<Events>();
  const heard: number[] = [];
  emitter.on('tick', () => {
    throw new Error('mine');
  });
  emitter.on('tick', ({ n }) => void heard.push(n));
  expect(() => emitter.emit('tick', { n: 7 })).not.toThrow();
  expect(heard).toEqual([7]);
});

test('the function that on returns removes that listener only, and doing so twice is harmless', () => {
  const emitter = new Emitter<Events>();
  const heard: string[] = [];
  const remove = emitter.on('tick', () => void heard.push('removed'));
  emitter.on('tick', () => void heard.push('kept'));
  remove();
  remove();
  emitter.emit('tick', { n: 1 });
  expect(heard).toEqual(['kept']);
});

test('a listener may remove itself while it listens', () => {
  const emitter = new Emitter<Events>();
  const heard: string[] = [];
  const remove = emitter.on('tick', () => {
    heard.push('once');
    remove();
  });
  emitter.on('tick', () => void heard.push('always'));
  emitter.emit('tick', { n: 1 });
  emitter.emit('tick', { n: 2 });
  expect(heard).toEqual(['once', 'always', 'always']);
});

test('an event that nobody listens to is no fault', () => {
  expect(() => new Emitter<Events>().emit('tick', { n: 1 })).not.toThrow();
});
