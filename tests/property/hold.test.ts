import {
  type Decision,
  fixedWindow,
  type Limit,
  type Limiter,
  type LimiterOptions,
  limitKinds,
  memoryStore,
  type Store,
  slidingWindow,
  tokenBucket,
} from 'comporta';
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { wire } from '../../packages/comporta/src/limiter/create.js';
import { LimitsHold } from '../../packages/comporta/src/limiter/hold.js';
import { START_US } from '../../packages/comporta/src/testing/fake-clock.js';
import { limitOf } from '../support/arbitraries.js';

const HOLD_MS = 40;

/** A memory that says that it is elsewhere, and how often it was asked. */
function remote(clock: Clock): Store & { asked: number } {
  const memory = memoryStore({ clock });
  const store = {
    ...memory,
    kind: 'redis' as const,
    asked: 0,
    bind: (plan: Parameters<Store['bind']>[0]) => {
      const policy = memory.bind(plan);
      return {
        consume: (...given: Parameters<typeof policy.consume>) => {
          store.asked++;
          return policy.consume(...given);
        },
        peek: policy.peek.bind(policy),
        refund: policy.refund.bind(policy),
        reset: policy.reset.bind(policy),
        ...(policy.act === undefined ? {} : { act: policy.act.bind(policy) }),
        shardOf: () => 'elsewhere',
      };
    },
  };
  return store;
}

class Clock {
  now: number;
  constructor(startUs: number) {
    this.now = startUs;
  }
  nowUs(): number {
    return this.now;
  }
  /** Nothing waits. */
  startTimer(): () => void {
    return () => undefined;
  }
}

type Step =
  | { readonly kind: 'consume'; readonly subject: string; readonly cost: number; readonly plan: 'pro' | undefined }
  | { readonly kind: 'pass'; readonly us: number }
  | { readonly kind: 'refund' | 'settle'; readonly back: number }
  | { readonly kind: 'reset' | 'unblock' | 'block' | 'raise' | 'unraise'; readonly subject: string }
  | { readonly kind: 'charge' | 'reward' | 'upTo' | 'reserve'; readonly subject: string; readonly cost: number };

const subject = fc.constantFrom('a', 'b');
const cost = fc.integer({ min: 1, max: 5 });
const weighted = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });

/** Mostly questions, close together, with moves of the clock by multiples of `unitUs`. */
function stepsOf(unitUs: number, most: number): fc.Arbitrary<readonly Step[]> {
  const us = fc.oneof(fc.integer({ min: 0, max: 3000 / unitUs }), fc.integer({ min: 0, max: 100_000 / unitUs }));
  const step = fc.oneof(
    weighted(
      20,
      fc.record({
        kind: fc.constant('consume' as const),
        subject,
        cost,
        plan: fc.constantFrom(undefined, undefined, undefined, undefined, 'pro' as const),
      }),
    ),
    weighted(
      10,
      us.map((units) => ({ kind: 'pass' as const, us: units * unitUs })),
    ),
    weighted(2, fc.record({ kind: fc.constantFrom('refund' as const, 'settle' as const), back: fc.nat(5) })),
    weighted(
      2,
      fc.record({
        kind: fc.constantFrom('reset', 'unblock', 'block', 'raise', 'unraise') as fc.Arbitrary<'reset'>,
        subject,
      }),
    ),
    weighted(
      2,
      fc.record({
        kind: fc.constantFrom('charge', 'reward', 'upTo', 'reserve') as fc.Arbitrary<'charge'>,
        subject,
        cost,
      }),
    ),
  );
  return fc.array(step, { minLength: 10, maxLength: most });
}

/** Plays a step; the decision that it made. */
async function play(
  limiter: Limiter,
  step: Exclude<Step, { kind: 'pass' }>,
  made: Decision[],
): Promise<Decision | undefined> {
  switch (step.kind) {
    case 'consume':
      return limiter.decide(step.subject, { cost: step.cost, ...(step.plan && { plan: step.plan }) });
    case 'upTo':
      return limiter.consumeUpTo(step.subject, step.cost);
    case 'reserve':
      return limiter.reserve(step.subject, { cost: step.cost, holdMs: 3_600_000 });
    case 'refund':
    case 'settle': {
      const decision = made.at(-1 - step.back);
      if (decision?.allowed !== true || decision.cost === 0) return undefined;
      if (step.kind === 'refund') await limiter.refund(decision);
      else if ('onExpiry' in decision) await limiter.settle(decision as never, 1);
      return undefined;
    }
    case 'reset':
    case 'unblock':
      await limiter[step.kind](step.subject);
      return undefined;
    case 'block':
      await limiter.block(step.subject, 30);
      return undefined;
    case 'raise':
      await limiter.setOverride(step.subject, { limits: [slidingWindow({ limit: 6, window: 50, id: 'own' })] }, '1h');
      return undefined;
    case 'unraise':
      await limiter.removeOverride(step.subject);
      return undefined;
    default:
      await limiter[step.kind](step.subject, step.cost);
      return undefined;
  }
}

interface World {
  readonly asked: number;
  readonly decisions: readonly (Decision | undefined)[];
}

async function live(
  options: Omit<LimiterOptions, 'policy' | 'store'>,
  startUs: number,
  steps: readonly Step[],
): Promise<World> {
  const clock = new Clock(startUs);
  const store = remote(clock);
  const limiter = wire(
    {
      policy: 'p',
      plans: { pro: tokenBucket({ capacity: 4, refill: 1, every: 15, id: 'pro' }) },
      overrides: true,
      blocks: true,
      ...options,
      store,
    },
    clock,
  );
  const made: Decision[] = [];
  const decisions: (Decision | undefined)[] = [];
  for (const step of steps) {
    if (step.kind === 'pass') clock.now += step.us;
    else {
      const decision = await play(limiter, step, made);
      if (decision !== undefined) made.push(decision);
      decisions.push(decision);
    }
  }
  return { asked: store.asked, decisions };
}

/** Names of decisions differ, whatever else is equal. */
const unnamed = (decision: Decision | undefined) => decision && { ...decision, id: '', holdMs: 0 };

const edges: readonly Limit[] = [
  tokenBucket({ capacity: 3, refill: 1, every: 20 }),
  tokenBucket({ capacity: 100, refill: 1, every: 11, id: 'slow' }),
  slidingWindow({ limit: 4, window: 60 }),
  fixedWindow({ limit: 3, window: 50 }),
];
const kinds = Object.keys(limitKinds).filter((kind) => kind !== 'concurrency');
const oneLimit = fc.oneof(fc.constantFrom(...edges), ...kinds.map((kind) => limitOf(kind)));
const limits = fc
  .oneof(
    oneLimit.map((one) => [one]),
    fc.array(oneLimit, { minLength: 2, maxLength: 3 }),
  )
  .map((all) => all.map((limit, i) => ({ ...limit, id: `l${i}` })));
const start = fc.nat(999_999).map((us) => START_US + us);

/** Every decision is the one that is made without a hold; how many questions both asked. */
function equal(unitUs: number, same: (held: Decision, asked: Decision) => void, total = { held: 0, asked: 0 }) {
  return fc.asyncProperty(limits, start, stepsOf(unitUs, 120), async (of, startUs, steps) => {
    const held = await live({ limits: of, hold: HOLD_MS }, startUs, steps);
    const plain = await live({ limits: of, hold: false }, startUs, steps);
    for (const [i, decision] of held.decisions.entries()) {
      const asked = plain.decisions[i];
      if (decision === undefined || asked === undefined) expect(decision).toBe(asked);
      else same(decision, asked);
    }
    total.held += held.asked;
    total.asked += plain.asked;
  });
}

const whole = (held: Decision, asked: Decision) => expect(unnamed(held)).toEqual(unnamed(asked));

afterEach(() => void vi.restoreAllMocks());

test('whatever happens to a subject, a decision is the one that is made without a hold', async () => {
  const total = { held: 0, asked: 0 };
  await fc.assert(equal(1000, whole, total), { numRuns: 300 });
  expect(total.held / total.asked, 'otherwise nothing was held').toBeLessThan(0.9);
});

test('between milliseconds too, but that a wait may be told a millisecond too long, never too short', async () => {
  const close = (held: Decision, asked: Decision) => {
    const untimed = (decision: Decision) => ({
      ...decision,
      ...{ id: '', holdMs: 0, binding: undefined, retryAfterMs: undefined },
      limits: decision.limits.map(({ id, remaining }) => ({ id, remaining })),
    });
    expect(untimed(held)).toEqual(untimed(asked));
    for (const [i, { retryAfterMs, resetAfterMs, nextAfterMs }] of held.limits.entries()) {
      const truth = asked.limits[i] as Decision['limits'][number];
      expect([0, 1]).toContain((retryAfterMs ?? 0) - (truth.retryAfterMs ?? 0));
      expect([0, 1]).toContain(resetAfterMs - truth.resetAfterMs);
      expect([0, 1]).toContain(nextAfterMs - truth.nextAfterMs);
    }
    expect([0, 1]).toContain((held.retryAfterMs ?? 0) - (asked.retryAfterMs ?? 0));
  };
  await fc.assert(equal(1, close), { numRuns: 300 });
});

const wrong: readonly [string, () => void][] = [
  ['forgets nothing', () => void vi.spyOn(LimitsHold.prototype, 'drop').mockReturnValue(undefined)],
  [
    'refuses the small for the sake of the large',
    () => {
      const { answer } = LimitsHold.prototype;
      vi.spyOn(LimitsHold.prototype, 'answer').mockImplementation(function (this: LimitsHold, subject, cost) {
        return [cost, cost + 1, cost + 2].map((each) => answer.call(this, subject, each)).find(Boolean);
      });
    },
  ],
  [
    'holds from the answer on that it gave itself',
    () => {
      const { answer, heard } = LimitsHold.prototype;
      vi.spyOn(LimitsHold.prototype, 'answer').mockImplementation(function (this: LimitsHold, subject, cost) {
        const reply = answer.call(this, subject, cost);
        if (reply !== undefined)
          heard.call(this, subject, cost, this.sent(), { ...reply, numbers: [...reply.numbers.map((n) => n + 2)] });
        return reply;
      });
    },
  ],
];

test.each(wrong)('control: a hold that %s is found out', async (_, spoil) => {
  spoil();
  await expect(fc.assert(equal(1000, whole), { numRuns: 300 })).rejects.toThrow();
});
