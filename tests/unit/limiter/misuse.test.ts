import { type CallOptions, createLimiter, type Decision, slidingWindow, tokenBucket } from 'comporta';
import { describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { cpuMsOf } from '../../support/cpu.js';
import { FakeClock } from '../../support/fake-clock.js';
import { ScriptedStore } from './scripted-store.js';

const limits = slidingWindow({ limit: 5, window: '1m' });

describe('a call with options that cannot be meant is refused before the store is asked', () => {
  test.each<[string, unknown, string]>([
    ['a cost without its name', 5, 'options'],
    ['null', null, 'options'],
    ['a mistyped name', { costs: 5 }, 'costs'],
    ['a controller in place of its signal', { signal: new AbortController() }, 'signal'],
    ['a text as signal', { signal: 'now' }, 'signal'],
    ['a text as time limit', { timeoutMs: '10' }, 'timeoutMs'],
  ])('%s', async (_, options, field) => {
    const store = new ScriptedStore();
    const limiter = wire({ policy: 'p', limits, store }, new FakeClock());
    await expect(limiter.consume('s', options as CallOptions)).rejects.toMatchObject({ code: 'ERR_OPTION', field });
    expect(store.calls).toEqual([]);
  });
});

describe('a decision that this limiter cannot have made is refused', () => {
  test.each<[string, Partial<Record<keyof Decision, unknown>>]>([
    ['no subject', { subject: undefined }],
    ['an id of another form', { id: '}{' }],
    ['a time that is no number', { atUs: Number.NaN }],
    ['a time before time', { atUs: -1 }],
    ['a refusal', { allowed: false }],
  ])('%s', async (_, change) => {
    const limiter = createLimiter({ policy: 'p', limits });
    const decision = { ...(await limiter.consume('s')), ...change } as Decision;
    await expect(limiter.refund(decision)).rejects.toMatchObject({ code: 'ERR_REFUND' });
  });
});

describe('refunds of a bucket', () => {
  const clock = new FakeClock();
  const bucket = tokenBucket({ capacity: 10, refill: 10, every: '1s' });
  const make = () => wire({ policy: 'p', limits: [bucket, slidingWindow({ limit: 1000, window: '1h' })] }, clock);

  test('of charges that have been refilled since give the bucket nothing', async () => {
    const limiter = make();
    const old: Decision[] = [];
    for (let i = 0; i < 40; i++) {
      old.push(await limiter.consume('s'));
      clock.advance(200);
    }
    clock.advance(2000);
    for (let i = 0; i < 10; i++) expect((await limiter.consume('s')).allowed).toBe(true);
    for (const decision of old) await limiter.refund(decision);
    expect((await limiter.consume('s')).allowed).toBe(false);
  });

  test('give back once, however much later the second comes', async () => {
    const limiter = make();
    const decision = await limiter.consume('t', { cost: 10 });
    expect(await limiter.refund(decision)).toBe(true);
    clock.advance(1100);
    await limiter.consume('t', { cost: 10 });
    expect(await limiter.refund(decision)).toBe(false);
    expect((await limiter.consume('t')).allowed).toBe(false);
  });
});

test('a subject of a megabyte, whatever is in it, takes a fraction of a time limit', () => {
  const limiter = createLimiter({ policy: 'p', limits });
  for (const unit of ['a', '%', '\ud800', 'é']) {
    // Generous for slow machines: it was hundreds.
    expect(cpuMsOf(() => limiter.decide(unit.repeat(2 ** 20)))).toBeLessThan(200);
  }
});
