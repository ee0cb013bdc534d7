import { type Limit, slidingWindow, tokenBucket } from 'comporta';
import { describe, expect, test } from 'vitest';
import { withIds } from '../../../packages/comporta/src/algorithms/limits.js';
import { overrideText, revisionText, type Table } from '../../../packages/comporta/src/limiter/terms.js';
import { Variants, type VariantsOptions } from '../../../packages/comporta/src/limiter/variants.js';
import type { Guard } from '../../../packages/comporta/src/resilience/guard.js';

const bucket = (capacity: number): Limit => tokenBucket({ capacity, refill: 1, every: '1h' });
const tableOf = (own: number, plans: Readonly<Record<string, number>> = {}): Table => ({
  limits: withIds([bucket(own)]),
  plans: new Map(Object.entries(plans).map(([name, capacity]) => [name, withIds([bucket(capacity)])])),
});

/** Variants with what they made, ended and told. */
function variantsOf(options: Partial<VariantsOptions> & { readonly table: Table }) {
  const open = new Set<Guard>();
  const told: string[] = [];
  let made = 0;
  const guardOf = (): Guard => {
    made++;
    const guard = { close: () => void open.delete(guard) } as unknown as Guard;
    open.add(guard);
    return guard;
  };
  const rest = {
    revision: undefined,
    planOf: undefined,
    haveTerms: true,
    onUnknown: (text: string) => told.push(text),
  };
  const variants = new Variants({ ...rest, guardOf, ...options });
  const sizeOf = (subject = 's', plan?: string) => variants.of(subject, plan).limits[0]?.limit;
  return { variants, sizeOf, told, open, made: () => made };
}

describe('the plan of a subject', () => {
  test('is the one of the call, else the one that planOf says, else none', () => {
    const planOf = (subject: string) => (subject === 'p' ? 'pro' : undefined);
    const { sizeOf } = variantsOf({ table: tableOf(1, { pro: 2, max: 3 }), haveTerms: false, planOf });
    expect([sizeOf('s'), sizeOf('p'), sizeOf('s', 'max'), sizeOf('p', 'max')]).toEqual([1, 2, 3, 3]);
  });

  test('may be null for none, as databases say it', () => {
    const { sizeOf } = variantsOf({ table: tableOf(1, { pro: 2 }), planOf: () => null as unknown as undefined });
    expect(sizeOf()).toBe(1);
  });

  test('that does not exist is named together with those that do', () => {
    const { sizeOf } = variantsOf({ table: tableOf(1, { pro: 2, max: 3 }) });
    expect(() => sizeOf('s', 'gold')).toThrow(/plan: there is no "gold"; the policy has pro, max/);
    expect(() => sizeOf('s', 'constructor')).toThrow(expect.objectContaining({ code: 'ERR_PLAN' }));
    expect(() => variantsOf({ table: tableOf(1) }).sizeOf('s', 'pro')).toThrow(/the policy has none/);
  });

  test('that cannot be found says what planOf said, and never keeps from what must not fail', () => {
    const planOf = () => {
      throw new Error('no such tenant');
    };
    const { variants, sizeOf } = variantsOf({ table: tableOf(1, { pro: 2 }), planOf });
    expect(() => sizeOf()).toThrow(
      expect.objectContaining({ code: 'ERR_PLAN', message: expect.stringContaining('no such tenant') }),
    );
    expect(variants.known('s').limits[0]?.limit).toBe(1);
    expect(sizeOf('s', 'pro')).toBe(2);
  });
});

describe('stored terms', () => {
  const own = revisionText(5, tableOf(1, { pro: 2 }));
  const newer = revisionText(6, tableOf(10, { pro: 20 }));
  const older = revisionText(4, tableOf(100, { pro: 200 }));
  const at5 = () => variantsOf({ table: tableOf(1, { pro: 2 }), revision: 5 });

  test('are none at first: the process expects its own and gives way to nothing', () => {
    expect(at5().variants.of('s').terms).toEqual({ expected: own, replaced: '' });
    expect(variantsOf({ table: tableOf(1) }).variants.of('s').terms).toEqual({ expected: '', replaced: '' });
    expect(variantsOf({ table: tableOf(1), haveTerms: false }).variants.of('s').terms).toBeUndefined();
  });

  test('of a newer revision rule, for every plan that they have, and stay', () => {
    const { variants, sizeOf } = at5();
    variants.learn('s', newer);
    expect([sizeOf(), sizeOf('s', 'pro'), sizeOf('other')]).toEqual([10, 20, 1]);
    expect(variants.of('s').terms).toEqual({ expected: newer, replaced: newer });
  });

  test('of a newer revision that lacks the plan rule by its own limits', () => {
    const { variants, sizeOf } = at5();
    variants.learn('s', revisionText(6, tableOf(10)));
    expect(sizeOf('s', 'pro')).toBe(10);
  });

  test.each([
    ['an older revision', older],
    ['the same revision with other limits', revisionText(5, tableOf(77))],
    ['an older revision that is not understood', 'r4{"limits":[{"id":"a","leakyBucket":{}}]}'],
    ['what nobody can have written', '12345'],
  ])('of %s give way to the own', (_, text) => {
    const { variants, sizeOf } = at5();
    variants.learn('s', text);
    expect(sizeOf()).toBe(1);
    expect(variants.of('s').terms).toEqual({ expected: own, replaced: text });
  });

  test.each([
    ['a newer revision that is not understood', 'r6{"limits":[{"id":"a","leakyBucket":{}}]}'],
    ['an override that is not understood', 'o{"share":0.5}'],
    ['an override to a plan that this process does not have', 'o{"plan":"gold"}'],
  ])('of %s stay where they are, while the own limits decide', (_, text) => {
    const { variants, sizeOf, told } = at5();
    variants.learn('s', text);
    expect([sizeOf(), sizeOf('s', 'pro')]).toEqual([1, 2]);
    expect(variants.of('s').terms).toEqual({ expected: text, replaced: text });
    expect(told).toEqual([text]);
  });

  test('of the subject itself stand above every revision and plan, until they are gone', () => {
    const { variants, sizeOf } = at5();
    variants.learn('s', overrideText({ limits: [bucket(42)] }));
    expect([sizeOf(), sizeOf('s', 'pro')]).toEqual([42, 42]);
    variants.learn('s', overrideText({ plan: 'pro' }));
    expect([sizeOf(), sizeOf('other')]).toEqual([2, 1]);
    variants.learn('s', '');
    expect(sizeOf()).toBe(1);
  });

  test('are followed by a process without a revision of its own', () => {
    const { variants, sizeOf } = variantsOf({ table: tableOf(1) });
    variants.learn('s', revisionText(0, tableOf(9)));
    expect(sizeOf()).toBe(9);
  });
});

describe('what is remembered', () => {
  test('is 10 000 subjects: the one that was told of longest ago is asked for again', () => {
    const { variants, sizeOf } = variantsOf({ table: tableOf(1, { pro: 2 }) });
    const text = overrideText({ plan: 'pro' });
    for (let i = 0; i <= 10_000; i++) variants.learn(`s${i}`, text);
    expect([sizeOf('s0'), sizeOf('s1'), sizeOf('s10000')]).toEqual([1, 2, 2]);
    variants.learn('s1', text);
    variants.learn('s0', text);
    expect([sizeOf('s1'), sizeOf('s2')]).toEqual([2, 1]);
  });

  test('of subjects without terms is nothing', () => {
    const { variants, sizeOf } = variantsOf({ table: tableOf(1, { pro: 2 }) });
    variants.learn('s', overrideText({ plan: 'pro' }));
    for (let i = 0; i < 20_000; i++) variants.learn(`none${i}`, '');
    expect(sizeOf('s')).toBe(2);
  });

  test('is 200 different texts; guards of older ones are ended, and made again when they are met again', () => {
    const { variants, sizeOf, open, made } = variantsOf({ table: tableOf(1) });
    for (let i = 0; i < 1000; i++) {
      variants.learn('s', overrideText({ limits: [bucket(1000 + i)] }));
      expect(sizeOf()).toBe(1000 + i);
      expect(open.size).toBeLessThanOrEqual(201);
    }
    expect(made()).toBe(1000);
    variants.learn('s', overrideText({ limits: [bucket(1000)] }));
    expect([sizeOf(), made()]).toEqual([1000, 1001]);
    variants.close();
    expect(open.size).toBe(0);
  });

  test('keeps what is used: the guard of a busy text outlives a thousand others', () => {
    const { variants, sizeOf, made } = variantsOf({ table: tableOf(1) });
    variants.learn('busy', overrideText({ limits: [bucket(7)] }));
    const { guard } = variants.of('busy');
    for (let i = 0; i < 1000; i++) {
      variants.learn('s', overrideText({ limits: [bucket(1000 + i)] }));
      sizeOf('s');
      expect(sizeOf('busy')).toBe(7);
    }
    expect([variants.of('busy').guard === guard, made()]).toEqual([true, 1001]);
  });
});

describe('the limits behind a decision', () => {
  const window = withIds([slidingWindow({ limit: 50, window: '1m' })]);
  const table: Table = { limits: withIds([bucket(1)]), plans: new Map([['pro', window]]) };
  const stateOf = (id: string, limit: number, windowMs: number) =>
    ({ id, limit, windowMs, remaining: 0, retryAfterMs: 0, resetAfterMs: 0, nextAfterMs: 0 }) as const;

  test('are those of its plan, though the subject has another now', () => {
    const { variants } = variantsOf({ table, haveTerms: false });
    const decision = { id: 'd', subject: 's', limits: [stateOf('slidingWindow', 50, 60_000)] };
    expect(variants.behind(decision)?.limits).toBe(window);
  });

  test('are found by their ids when a part of them decided', () => {
    const { variants } = variantsOf({ table, haveTerms: false });
    expect(variants.behind({ id: 'd', subject: 's', limits: [stateOf('slidingWindow', 25, 60_000)] })?.limits).toBe(
      window,
    );
  });

  test('are those of an override that has ended meanwhile', () => {
    const { variants } = variantsOf({ table });
    variants.learn('s', overrideText({ limits: [slidingWindow({ limit: 8, window: '1h', id: 'own' })] }));
    const { limits } = variants.of('s');
    variants.learn('s', '');
    expect(variants.behind({ id: 'd', subject: 's', limits: [stateOf('own', 8, 3_600_000)] })?.limits).toBe(limits);
  });

  test('are none where this process does not know them', () => {
    const { variants } = variantsOf({ table });
    expect(variants.behind({ id: 'd', subject: 's', limits: [stateOf('theirs', 8, 3_600_000)] })).toBeUndefined();
  });

  test('are those that apply now, where nobody counted', () => {
    const { variants } = variantsOf({ table });
    expect(variants.behind({ id: 'd', subject: 's', limits: [] })?.limits).toBe(table.limits);
  });
});
