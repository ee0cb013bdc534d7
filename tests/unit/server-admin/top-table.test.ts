import { describe, expect, test } from 'vitest';
import { topLines } from '../../../packages/server/src/cli/top-table.js';

const lines = (width: number, policy: string, subject: string, advice?: string): readonly string[] => {
  const subjects = [{ policy, subject, count: 9, error: 0, ...(advice !== undefined && { advice }) }];
  const store = { address: 'redis://h', status: 'pass' };
  return topLines({ by: 'requests', sinceMs: 0, nowMs: 1000, total: 9, subjects, store, breakers: [] }, width);
};

describe('a table that is cut to the columns of a terminal', () => {
  test.each([
    [60, 'p'.repeat(64), 'ip=10.0.0.1'],
    [80, 'p'.repeat(64), `ip=2001:db8::${'1'.repeat(13)}`],
    [80, 'short', `ip=${'1'.repeat(30)}`],
  ])('%d wide names the subject', (width, policy, subject) => {
    const [heads = '', row = ''] = lines(width, policy, subject).slice(-2);
    expect(row.endsWith(subject)).toBe(true);
    expect(heads.indexOf('SUBJECT')).toBe(row.indexOf(subject));
    expect(row.length).toBeLessThanOrEqual(width);
  });

  test('names policies at length where there is room', () => {
    expect(lines(100, 'p'.repeat(40), 'ip=10.0.0.1').at(-1)).toContain(`${'p'.repeat(40)}  ip=10.0.0.1`);
  });

  test('says first of what subject an advice is, however long both are', () => {
    const advice = `split: { parts: 8 }, ${'because '.repeat(20)}`;
    expect(lines(80, 'p', 'ip=10.0.0.1', advice)[3]).toMatch(/^ip=10\.0\.0\.1: split: \{ parts: 8 \}, /);
    expect(lines(80, 'p', 's'.repeat(500), advice)[3]).toMatch(/^s+\.\.\.: split: \{ parts: 8 \}, /);
  });
});
