import { type Limit, limitKinds, quota, slidingWindow, tokenBucket } from 'comporta';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withIds } from '../../../packages/comporta/src/algorithms/limits.js';
import {
  type Override,
  overrideText,
  readTerms,
  revisionText,
  type Table,
} from '../../../packages/comporta/src/limiter/terms.js';
import { kinds, limitOf } from '../../support/arbitraries.js';

type Limits = Table['limits'];

const bucket = (capacity: number): Limit => tokenBucket({ capacity, refill: 1, every: '1h' });
const table = (limits: readonly Limit[], plans: Readonly<Record<string, readonly Limit[]>> = {}): Table => ({
  limits: withIds(limits),
  plans: new Map(Object.entries(plans).map(([name, of]) => [name, withIds(of)])),
});

/** What decides, without the functions. */
const plain = (limits: Limits | undefined) =>
  limits?.map(({ id, algorithm, args, limit, windowMs }) => ({ id, name: algorithm.name, args, limit, windowMs }));

const someLimits: fc.Arbitrary<Limits> = fc
  .array(fc.constantFrom(...kinds).chain(limitOf), { minLength: 1, maxLength: 4 })
  .map((limits) => withIds(limits));

describe('the text of a revision', () => {
  test('is read back as the same limits and plans, whatever they are', () => {
    const all = fc.record({
      limits: someLimits,
      plans: fc.array(fc.tuple(fc.stringMatching(/^[A-Za-z0-9_.-]{1,8}$/), someLimits), { maxLength: 3 }),
    });
    const property = fc.property(all, fc.maxSafeNat(), ({ limits, plans }, revision) => {
      const reading = readTerms(revisionText(revision, { limits, plans: new Map(plans) }));
      if (reading.kind !== 'revision') throw new Error(`read as ${reading.kind}`);
      expect(reading.revision).toBe(revision);
      expect(plain(reading.table.limits)).toEqual(plain(limits));
      expect([...reading.table.plans].map(([name, of]) => [name, plain(of)]).toSorted()).toEqual(
        [...new Map(plans)].map(([name, of]) => [name, plain(of)]).toSorted(),
      );
    });
    fc.assert(property, { numRuns: 200 });
  });

  test('does not depend on the order in which plans are given', () => {
    const [one, two] = [[bucket(1)], [bucket(2)]];
    expect(revisionText(1, table([bucket(3)], { one, two }))).toBe(revisionText(1, table([bucket(3)], { two, one })));
  });

  test('differs when the revision, a limit, an id or a plan does', () => {
    const texts = [
      revisionText(1, table([bucket(3)])),
      revisionText(2, table([bucket(3)])),
      revisionText(1, table([bucket(4)])),
      revisionText(1, table([tokenBucket({ capacity: 3, refill: 1, every: '1h', id: 'x' })])),
      revisionText(1, table([bucket(3)], { pro: [bucket(4)] })),
    ];
    expect(new Set(texts).size).toBe(texts.length);
  });
});

describe('the text of an override', () => {
  test('names a plan, or carries limits with their ids', () => {
    expect(readTerms(overrideText({ plan: 'pro' }))).toEqual({ kind: 'override', plan: 'pro', limits: undefined });
    const limits = [bucket(7), slidingWindow({ limit: 3, window: '1m', id: 'x' }), quota({ limit: 9, per: 'month' })];
    const reading = readTerms(overrideText({ limits }));
    if (reading.kind !== 'override') throw new Error(`read as ${reading.kind}`);
    expect(plain(reading.limits)).toEqual(plain(withIds(limits)));
  });

  test.each<[unknown, string]>([
    [undefined, 'ERR_OPTION'],
    [null, 'ERR_OPTION'],
    ['pro', 'ERR_OPTION'],
    [{}, 'ERR_OPTION'],
    [{ plan: 5 }, 'ERR_OPTION'],
    [{ plan: undefined }, 'ERR_OPTION'],
    [{ plan: 'pro', limits: [bucket(1)] }, 'ERR_OPTION'],
    [{ limits: [] }, 'ERR_LIMIT'],
    [{ limits: [{ capacity: 5 }] }, 'ERR_LIMIT'],
    [{ limits: Array.from({ length: 9 }, () => bucket(1)) }, 'ERR_LIMIT'],
  ])('is refused for %j', (override, code) => {
    expect(() => overrideText(override as Override)).toThrow(expect.objectContaining({ code }));
  });
});

describe('a text that nobody here has written', () => {
  const never = { kind: 'unknown', revision: Number.POSITIVE_INFINITY };

  test('is none when it is empty', () => {
    expect(readTerms('')).toEqual({ kind: 'none' });
  });

  test.each([
    ['o{"limits":[]}', never],
    ['o{"limits":[{"id":"a"}]}', never],
    ['o{"limits":[{"id":"a","leakyBucket":{"limit":5}}]}', never],
    ['o{"limits":[{"id":"a","constructor":{}}]}', never],
    ['o{"limits":[{"id":"a","slidingWindow":{"limit":5,"window":"1m","sparkle":true}}]}', never],
    ['o{"limits":[{"id":"a b","slidingWindow":{"limit":5,"window":"1m"}}]}', never],
    ['o{"limits":[null]}', never],
    ['o{"limits":{"length":1}}', never],
    ['o{"share":0.5}', never],
    ['o{', never],
    ['r7{"limits":[{"id":"a","leakyBucket":{}}]}', { kind: 'unknown', revision: 7 }],
    [
      'r7{"limits":[{"id":"a","slidingWindow":{"limit":1,"window":"1m"}}],"plans":{"a":5}}',
      { kind: 'unknown', revision: 7 },
    ],
    ['r7{oops', { kind: 'unknown', revision: 7 }],
    ['r7', { kind: 'unknown', revision: -1 }],
    ['12345', { kind: 'unknown', revision: -1 }],
    ['{}', { kind: 'unknown', revision: -1 }],
    ['\u0000\ud800', { kind: 'unknown', revision: -1 }],
  ])('%j is unknown, and says what may take its place', (text, reading) => {
    expect(readTerms(text)).toEqual(reading);
  });

  test('never throws, whatever it is', () => {
    const nearly = fc.tuple(fc.constantFrom('o', 'r5', 'r', ''), fc.json()).map(([head, json]) => head + json);
    const limitsLike = fc
      .tuple(
        fc.constantFrom('o', 'r5'),
        fc.array(fc.dictionary(fc.constantFrom('id', ...Object.keys(limitKinds)), fc.jsonValue())),
      )
      .map(([head, limits]) => `${head}${JSON.stringify({ limits })}`);
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), nearly, limitsLike), (text) => {
        expect(['none', 'unknown', 'override', 'revision']).toContain(readTerms(text).kind);
      }),
      { numRuns: 1000 },
    );
  });
});
