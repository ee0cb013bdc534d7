import { memoryStore, slidingWindow } from 'comporta';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wire } from '../../packages/comporta/src/limiter/create.js';
import { FakeClock } from '../support/fake-clock.js';

const WINDOW_MS = 100;
const COST_MAX = 4;

interface Settings {
  readonly limit: number;
  readonly after: number;
  readonly withinMs: number;
  readonly lastsMs: number;
}

/** What a subject should meet, worked out the long way: whole lists, whole ms, no state machine. */
class Model {
  readonly #settings: Settings;
  #charges: { atMs: number; cost: number }[] = [];
  /** Those that count: since the first of them no longer ago than the time within which they count. */
  #refusals: number[] = [];
  #blockedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  ask(nowMs: number, cost: number): string | undefined {
    if (this.isBlocked(nowMs)) return 'blocked';
    const { limit, after, withinMs, lastsMs } = this.#settings;
    if (cost > limit) return 'cost-exceeds-limit';
    this.#charges = this.#charges.filter(({ atMs }) => nowMs - atMs < WINDOW_MS);
    const used = this.#charges.reduce((sum, charge) => sum + charge.cost, 0);
    if (used + cost <= limit) {
      this.#charges.push({ atMs: nowMs, cost });
      return undefined;
    }
    if (nowMs - (this.#refusals[0] ?? nowMs) >= withinMs) this.#refusals = [];
    this.#refusals.push(nowMs);
    if (this.#refusals.length < after) return 'limit-exceeded';
    this.block(nowMs, lastsMs);
    return 'blocked';
  }

  isBlocked(nowMs: number): boolean {
    return nowMs < this.#blockedUntilMs;
  }

  block(nowMs: number, forMs: number): void {
    this.#refusals = [];
    this.#blockedUntilMs = nowMs + forMs;
  }

  leftMs(nowMs: number): number {
    return this.#blockedUntilMs - nowMs;
  }
}

const subjects = ['a', 'b'] as const;
const settings = fc.record({
  limit: fc.integer({ min: 0, max: 3 }),
  after: fc.integer({ min: 1, max: 4 }),
  withinMs: fc.integer({ min: 1, max: 300 }),
  lastsMs: fc.integer({ min: 1, max: 300 }),
});
const step = fc.record({
  passMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 150 })),
  subject: fc.constantFrom(...subjects),
  act: fc.oneof(
    { weight: 12, arbitrary: fc.constant('consume' as const) },
    { weight: 2, arbitrary: fc.constant('peek' as const) },
    fc.constantFrom('block' as const, 'unblock' as const),
  ),
  cost: fc.integer({ min: 1, max: COST_MAX }),
});

test('blocks come, last and end as a plain model says, and looks neither count nor change them', async () => {
  let blocks = 0;
  const history = fc.tuple(settings, fc.array(step, { maxLength: 60, size: 'max' }));
  await fc.assert(
    fc.asyncProperty(history, async ([given, steps]) => {
      const clock = new FakeClock();
      const { limit, after, withinMs, lastsMs } = given;
      const limits = slidingWindow({ limit, window: WINDOW_MS });
      const options = { policy: 'p', limits, blocks: { after, within: withinMs, lasts: lastsMs } };
      const limiter = wire({ ...options, store: memoryStore({ clock }) }, clock);
      const models = { a: new Model(given), b: new Model(given) };
      for (const { passMs, subject, act, cost } of steps) {
        clock.advance(passMs);
        const [nowMs, model] = [clock.nowUs() / 1000, models[subject]];
        const was = model.isBlocked(nowMs);
        if (act === 'consume') {
          const reason = model.ask(nowMs, cost);
          const decision = await limiter.consume(subject, { cost });
          expect(decision.reason).toBe(reason);
          if (reason === 'blocked') expect(decision.retryAfterMs).toBe(model.leftMs(nowMs));
          if (reason === 'blocked' && !was) blocks++;
        } else if (act === 'peek') {
          expect((await limiter.peek(subject, { cost })).reason === 'blocked').toBe(was);
        } else if (act === 'block') {
          await limiter.block(subject, cost * 10);
          model.block(nowMs, cost * 10);
        } else {
          expect(await limiter.unblock(subject)).toBe(was);
          model.block(nowMs, 0);
        }
      }
      await limiter.close();
    }),
    { numRuns: 500 },
  );
  expect(blocks, 'histories that meet no block prove nothing').toBeGreaterThan(100);
});
