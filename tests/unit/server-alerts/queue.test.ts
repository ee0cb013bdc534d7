import { expect, it } from 'vitest';
import { AlertQueue } from '../../../packages/server/src/alerts/queue.js';
import { factOf, messageOf, resolved } from './support.js';

const about = (target: string, id: string) => messageOf({ fact: factOf({ target }) }, id);

function rest(queue: AlertQueue): string[] {
  const ids: string[] = [];
  for (let message = queue.shift(); message !== undefined; message = queue.shift()) ids.push(message.id);
  return ids;
}

it('gives messages back in their order', () => {
  const queue = new AlertQueue(3);
  for (const id of ['1', '2', '3']) expect(queue.push(about(id, id))).toBeUndefined();
  expect([queue.size, queue.has('store.unavailable:2'), queue.has('store.unavailable:4')]).toEqual([3, true, false]);
  expect(rest(queue)).toEqual(['1', '2', '3']);
});

it('drops first what a later message is about too', () => {
  const queue = new AlertQueue(3);
  for (const [target, id] of [
    ['a', '1'],
    ['b', '2'],
    ['c', '3'],
  ] as const) {
    queue.push(about(target, id));
  }
  expect(queue.push(messageOf({ fact: factOf({ target: 'b' }), ...resolved }, '4'))?.id).toBe('2');
  expect(rest(queue)).toEqual(['1', '3', '4']);
});

it('drops the oldest when all are about different things', () => {
  const queue = new AlertQueue(2);
  queue.push(about('a', '1'));
  queue.push(about('b', '2'));
  expect(queue.push(about('c', '3'))?.id).toBe('1');
  expect(rest(queue)).toEqual(['2', '3']);
});
