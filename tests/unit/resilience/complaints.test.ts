import { expect, test } from 'vitest';
import { Complaints } from '../../../packages/comporta/src/resilience/complaints.js';

test('each distinct complaint is news once a minute', () => {
  const complaints = new Complaints();
  expect(['a', 'a', 'b', 'a', 'b'].map((detail) => complaints.isNews(detail, 1000))).toEqual([
    true,
    false,
    true,
    false,
    false,
  ]);
  expect(complaints.isNews('a', 60_999)).toBe(false);
  expect(complaints.isNews('a', 61_000)).toBe(true);
  expect(complaints.isNews('a', 61_001)).toBe(false);
});

test('complaints that differ without end are told thirty-two a minute', () => {
  const complaints = new Complaints();
  let told = 0;
  for (let i = 0; i < 6000; i++) if (complaints.isNews(`key ${i}`, i * 100)) told++;
  expect(told).toBeGreaterThanOrEqual(320);
  expect(told).toBeLessThanOrEqual(352);
});

test('a clock that steps back is no reason for silence', () => {
  const complaints = new Complaints();
  complaints.isNews('a', 10_000_000);
  expect(complaints.isNews('a', 1000)).toBe(true);
});
