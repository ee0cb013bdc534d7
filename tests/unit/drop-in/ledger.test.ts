import type { Decision } from 'comporta';
import { expect, test } from 'vitest';
import { Ledger } from '../../../packages/comporta/src/drop-in/ledger.js';

const decision = (id: string): Decision => ({ id }) as Decision;

test('gives back the newest charge of a key first, and each once', () => {
  const ledger = new Ledger(1000);
  for (const id of ['1', '2']) ledger.charged('a', decision(id));
  const given = [0, 0, 0].map((nowMs) => ledger.takeBack('a', nowMs)?.id);
  expect(given).toEqual(['2', '1', undefined]);
  expect(ledger.takeBack('b', 0)).toBeUndefined();
});

test('refusals are taken first, for as long as their decrements may come', () => {
  const ledger = new Ledger(1000);
  ledger.charged('a', decision('1'));
  for (const nowMs of [0, 10]) ledger.refused('a', nowMs);
  expect(ledger.takeBack('a', 20)).toBeUndefined();
  expect(ledger.takeBack('a', 1010)).toBeUndefined();
  expect(ledger.takeBack('a', 1010)?.id).toBe('1');
  ledger.charged('a', decision('2'));
  ledger.refused('a', 2000);
  expect(ledger.takeBack('a', 3001)?.id).toBe('2');
});

test('remembers the newest hundred charges of a key, and fifty thousand of all keys', () => {
  const ledger = new Ledger(1000);
  const backOf = (key: string): number => {
    let count = 0;
    while (ledger.takeBack(key, 0) !== undefined) count++;
    return count;
  };
  for (let i = 0; i < 150; i++) ledger.charged('a', decision(String(i)));
  expect(backOf('a')).toBe(100);
  for (let key = 0; key < 600; key++) for (let i = 0; i < 100; i++) ledger.charged(`${key}`, decision(`${i}`));
  const kept = Array.from({ length: 600 }, (_, key) => backOf(`${key}`));
  expect(kept.reduce((sum, count) => sum + count)).toBe(50_000);
  expect([kept[0], kept[599]], 'the oldest keys go first').toEqual([0, 100]);
});

test('remembers ten thousand keys', () => {
  const ledger = new Ledger(1000);
  for (let key = 0; key <= 10_000; key++) ledger.charged(`${key}`, decision('1'));
  expect(ledger.takeBack('0', 0)).toBeUndefined();
  expect(ledger.takeBack('1', 0)?.id).toBe('1');
});
