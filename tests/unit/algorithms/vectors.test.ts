import { describe, expect, test } from 'vitest';
import { kinds } from '../../support/arbitraries.js';
import { MemoryBench, numbersOf } from '../../support/memory-bench.js';
import { vectors } from '../../support/vectors.js';

test.each(kinds)('%s has examples', (kind) => {
  expect(vectors.some((vector) => vector.kind === kind)).toBe(true);
});

describe.each(vectors)('$kind: $about', ({ limit, startMs, rows }) => {
  const bench = new MemoryBench([limit]);
  bench.nowUs = startMs * 1000;
  test.each(rows)('%i ms later, cost %i', (dtMs, cost, allowed, remaining, retryAfterMs, resetAfterMs, nextAfterMs) => {
    bench.nowUs += dtMs * 1000;
    const numbers = numbersOf(bench.decide('s', cost));
    expect(numbers).toEqual({ remaining, retryAfterMs, resetAfterMs, nextAfterMs });
    expect(numbers.retryAfterMs === 0).toBe(allowed === 1);
  });
});
