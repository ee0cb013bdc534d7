import { describe, expect, it } from 'vitest';
import { onBreaker, onStoreAnswer, onStoreFailure } from '../../../packages/server/src/alerts/rules.js';

const failure = { cause: 'timeout', detail: 'no answer' } as const;

describe('rules', () => {
  it.each([
    ['local', 'error'],
    ['open', 'error'],
    ['closed', 'critical'],
  ] as const)('a store that does not answer, failure mode %s, is %s', (mode, severity) => {
    const { raise, clear } = onStoreFailure('a', { ...failure, mode });
    expect(raise).toMatchObject({ kind: 'store.unavailable', target: 'a', severity, cause: 'timeout' });
    expect(clear).toEqual([]);
  });

  it('a store that refuses calls is critical, and is not unavailable', () => {
    const { raise, clear } = onStoreFailure('a', { mode: 'open', cause: 'misconfigured', detail: 'NOPERM' });
    expect(raise).toMatchObject({ kind: 'store.misconfigured', severity: 'critical', detail: 'NOPERM' });
    expect(clear).toEqual(['store.unavailable:a']);
  });

  it('an answer of the store ends both', () => {
    expect(onStoreAnswer('a')).toEqual({ raise: undefined, clear: ['store.unavailable:a', 'store.misconfigured:a'] });
  });

  it('a breaker counts as open until it is closed', () => {
    const node = '10.0.0.1:6379';
    const timeoutMs = 50;
    expect(onBreaker({ node, timeoutMs, state: 'open' }).raise).toMatchObject({ kind: 'breaker.open', target: node });
    expect(onBreaker({ node, timeoutMs, state: 'halfOpen' })).toEqual({ raise: undefined, clear: [] });
    const clear = [`breaker.open:${node}`];
    expect(onBreaker({ node, timeoutMs, state: 'closed' })).toEqual({ raise: undefined, clear });
  });
});
