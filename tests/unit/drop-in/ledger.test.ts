import type { Decision } from 'comporta';
import { expect, test } from 'vitest';
import { Ledger } from '../../../packages/comporta/src/drop-in/ledger.js';

const decision = (id: string): Decision => ({ id }) as Decision;
const charge = (ledger: Ledger, key: string, id: string, untilMs = 1000, nowMs = 0): void =>
  ledger.charged(key, decision(id), untilMs, nowMs);

function backOf(ledger: Ledger, key: string): number {
  let count = 0;
  while (ledger.takeBack(key, 0) !== undefined) count++;
  return count;
}

test('gives back the oldest charge of a key first, and each once', () => {
  const ledger = new Ledger(true);
  for (const id of ['1', '2']) charge(ledger, 'a', id);
  const given = [0, 0, 0].map((nowMs) => ledger.takeBack('a', nowMs)?.id);
  expect(given).toEqual(['1', '2', undefined]);
  expect(ledger.takeBack('b', 0)).toBeUndefined();
});

test('a charge that counts no more is not given back in the place of one that does', () => {
  const ledger = new Ledger(true);
  charge(ledger, 'a', '1', 1000);
  charge(ledger, 'a', '2', 1500, 500);
  expect(ledger.takeBack('a', 1000)?.id).toBe('2');
});

test('refusals are taken first, for as long as their decrements may come', () => {
  const ledger = new Ledger(true);
  charge(ledger, 'a', '1', 5000);
  for (const untilMs of [1000, 1010]) ledger.refused('a', untilMs);
  expect(ledger.takeBack('a', 20)).toBeUndefined();
  expect(ledger.takeBack('a', 1010)).toBeUndefined();
  expect(ledger.takeBack('a', 1010)?.id).toBe('1');
  charge(ledger, 'a', '2', 5000);
  ledger.refused('a', 2000);
  expect(ledger.takeBack('a', 2001)?.id).toBe('2');
});

test('refusals take nothing where no decrements come for them', () => {
  const ledger = new Ledger(false);
  charge(ledger, 'a', '1');
  for (let i = 0; i < 3; i++) ledger.refused('a', 1000);
  expect(ledger.takeBack('a', 0)?.id).toBe('1');
});

test('remembers ten thousand charges of a key, and a hundred thousand of all keys', () => {
  const ledger = new Ledger(true);
  for (let i = 0; i < 10_500; i++) charge(ledger, 'a', String(i));
  expect(backOf(ledger, 'a')).toBe(10_000);
  for (let key = 0; key < 600; key++) for (let i = 0; i < 200; i++) charge(ledger, `${key}`, `${i}`);
  const kept = Array.from({ length: 600 }, (_, key) => backOf(ledger, `${key}`));
  expect(kept.reduce((sum, count) => sum + count)).toBe(100_000);
  expect([kept[0], kept[599]], 'the oldest keys go first').toEqual([0, 200]);
});

test('forgets what counts no more', () => {
  const ledger = new Ledger(true);
  for (let i = 0; i < 200_000; i++) charge(ledger, `${i % 10}`, String(i), i + 1000, i);
  charge(ledger, 'old', '1', 300_000, 200_000);
  expect(ledger.takeBack('old', 200_000)?.id, 'had they stayed, other keys would have gone').toBe('1');
  let left = 0;
  for (let key = 0; key < 10; key++) while (ledger.takeBack(`${key}`, 199_999) !== undefined) left++;
  expect(left).toBe(1000);
});

test('remembers ten thousand keys', () => {
  const ledger = new Ledger(true);
  for (let key = 0; key <= 10_000; key++) charge(ledger, `${key}`, '1');
  expect(ledger.takeBack('0', 0)).toBeUndefined();
  expect(ledger.takeBack('1', 0)?.id).toBe('1');
});
