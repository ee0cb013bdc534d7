import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Outages } from '../../../packages/comporta/src/resilience/outages.js';

/** Subjects live on the node of their first letter, as long as they do not move. */
const at = (subject: string, atMs = 0, isComplaint = false, nodeNow = () => subject[0] as string) => ({
  nodeNow,
  atMs,
  isComplaint,
});

describe('an outage of one node', () => {
  test('is news once', () => {
    const outages = new Outages();
    expect([1, 2, 3].map((i) => outages.failed('a', at(`a${i}`)))).toEqual([true, false, false]);
    expect(outages.failed('b', at('b1'))).toBe(true);
  });

  test('is over by an answer of that node, not of another', () => {
    const outages = new Outages();
    outages.failed('a', at('a1'));
    expect(outages.answered('b', 1)).toEqual([]);
    expect(outages.answered('a', 2)).toEqual(['a']);
    expect(outages.answered('a', 3)).toEqual([]);
    expect(outages.isEmpty).toBe(true);
  });

  test('is over when the node that took over its subjects answers', () => {
    const outages = new Outages();
    outages.failed(
      'a',
      at('a1', 0, false, () => 'b'),
    );
    outages.failed('c', at('c1'));
    expect(outages.answered('b', 1)).toEqual(['a']);
    expect(outages.isEmpty).toBe(false);
  });
});

test('a complaint about one key is not over by answers about others, until a second has passed without one', () => {
  const outages = new Outages();
  const seen: (string | boolean)[] = [];
  for (let atMs = 0; atMs < 5000; atMs += 500) {
    if (outages.failed('a', at('a1', atMs, true))) seen.push('failed');
    seen.push(...outages.answered('a', atMs + 1));
  }
  expect(seen).toEqual(['failed']);
  expect(outages.answered('a', 5499)).toEqual([]);
  expect(outages.answered('a', 5500)).toEqual(['a']);
});

test('over any history, failures and ends of each node alternate', () => {
  const event = fc.tuple(fc.constantFrom('fail', 'complain', 'answer'), fc.constantFrom('a', 'b', 'c'), fc.nat(700));
  fc.assert(
    fc.property(fc.array(event, { maxLength: 100 }), (events) => {
      const outages = new Outages();
      const told = new Map<string, string[]>();
      const tell = (node: string, what: string): void => void told.set(node, [...(told.get(node) ?? []), what]);
      let nowMs = 0;
      for (const [what, node, passedMs] of events) {
        nowMs += passedMs;
        if (what === 'answer') for (const over of outages.answered(node, nowMs)) tell(over, 'over');
        else if (outages.failed(node, at(`${node}1`, nowMs, what === 'complain'))) tell(node, 'failed');
      }
      for (const words of told.values()) {
        expect(words).toEqual(words.map((_, i) => (i % 2 === 0 ? 'failed' : 'over')));
      }
    }),
  );
});
