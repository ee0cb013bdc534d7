import { expect, test } from 'vitest';
import { closedLoop, zipfRank } from '../../../bench/peers-lib/lib/load.mjs';
import { progress } from '../../../bench/peers-lib/lib/progress.mjs';
import { mostWithin, ratios, spread } from '../../../bench/peers-lib/lib/stats.mjs';
import { barChart } from '../../../bench/peers-lib/lib/svg.mjs';
import { range, short, table } from '../../../bench/peers-lib/lib/text.mjs';

test('a spread is the median, the least and the most, whatever the order, and leaves out what is no number', () => {
  expect(spread([5, 1, 30, 2, Number.NaN])).toEqual({ median: 5, min: 1, max: 30 });
});

test('a ratio is taken round by round', () => {
  expect(ratios([10, 40, 90], [10, 20, 30])).toEqual({ median: 2, min: 1, max: 3 });
});

test('most admissions within a second are those sent and answered inside it, wherever it begins', () => {
  const answeredLate: [number, number] = [950, 1200];
  const intervals: [number, number][] = [[0, 10], answeredLate, [990, 1000], [900, 910], [1900, 1950], [1990, 2100]];
  expect(mostWithin(intervals, 1000)).toBe(3);
  expect(mostWithin([...intervals, [1901, 1950], [1902, 1950]], 1000)).toBe(5);
  expect(mostWithin([], 1000)).toBe(0);
});

test('ranks of a Zipf distribution fall as one over the rank and stay in bounds', () => {
  const counts = new Map<number, number>();
  const draws = 100_000;
  for (let i = 0; i < draws; i++) {
    const rank = zipfRank((i + 0.5) / draws, 1000);
    counts.set(rank, (counts.get(rank) ?? 0) + 1);
  }
  const times = (rank: number): number => counts.get(rank) ?? 0;
  expect(times(2) / times(20)).toBeCloseTo(10, 0);
  expect(times(10) / times(100)).toBeCloseTo(10, 0);
  expect([zipfRank(0, 1000), zipfRank(1, 1000)]).toEqual([1, 1000]);
});

test('a closed loop counts every answer once and goes on after errors', async () => {
  let asked = 0;
  const decide = async (): Promise<number> => {
    asked++;
    if (asked % 5 === 0) throw new Error('late');
    return asked % 4;
  };
  const tally = await closedLoop(decide, ['s'], { inFlight: 4, ms: 5 });
  expect(tally.admitted + tally.refused + tally.degraded + tally.errors).toBe(asked);
  expect(tally.errors).toBe(Math.floor(asked / 5));
});

test('numbers are short, and ranges name their ends', () => {
  const numbers = [0.12345, 5, 12.34, 640.4, 9994, 12_345, 999_600, 2_345_678, Number.NaN];
  expect(numbers.map(short)).toEqual(['0.12', '5', '12.3', '640', '9994', '12.3k', '1M', '2.35M', '-']);
  expect(range({ median: 2, min: 1, max: 3 })).toBe('2 (1-3)');
  expect(range({ median: 1, min: 1, max: 1 })).toBe('1 (1)');
});

test('columns of numbers stand to the right in a table', () => {
  expect(table(['', 'n', 'who'], [['a', '1', 'x']])).toBe('|  | n | who |\n| --- | ---: | --- |\n| a | 1 | x |');
});

test('the longest bar of a chart is the greatest value, and text is escaped', () => {
  const svg = barChart({
    title: 'a < b & c',
    unit: 'times',
    rows: [
      { label: 'one', value: 10, text: '10x', by: 'comporta' },
      { label: '<two>', value: 5, text: '5x', by: 'peer' },
      { label: 'none', value: 0, text: '0x', by: 'reference' },
    ],
  });
  const widths = [...svg.matchAll(/<rect x="250".*? width="([\d.]+)"/g)].map(([, width]) => Number(width));
  expect(widths).toEqual([400, 200, 1]);
  expect(svg).toContain('a &lt; b &amp; c');
  expect(svg).toContain('&lt;two&gt;');
});

test('progress says what is left, longer where the steps so far took longer than planned', () => {
  const lines: string[] = [];
  let nowMs = 0;
  const steps = [
    { title: 'one', seconds: 60 },
    { title: 'two', seconds: 20 },
  ];
  const tell = progress(steps, { now: () => nowMs, write: (line) => lines.push(line) });
  tell('one');
  nowMs = 120_000;
  tell('two');
  expect(lines).toEqual(['[   0 s, about 80 s left] one', '[ 120 s, about 30 s left] two']);
});
