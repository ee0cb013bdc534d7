import assert from 'node:assert/strict';
import { type Limit, type Limiter, type LimiterOptions, slidingWindow } from 'comporta';
import fc from 'fast-check';

/** One process's settings: its revision, and how much each plan admits. */
export interface Version {
  readonly revision: number | undefined;
  readonly sizes: Readonly<Record<'own' | 'pro' | 'max', number>>;
}

/** Every size names its version and plan, so that a decision says by which limits it was made. */
export const VERSIONS: readonly Version[] = [
  { revision: 1, sizes: { own: 11, pro: 21, max: 31 } },
  { revision: 2, sizes: { own: 12, pro: 22, max: 32 } },
  { revision: 3, sizes: { own: 9, pro: 19, max: 29 } },
  { revision: undefined, sizes: { own: 14, pro: 24, max: 34 } },
];

type PlanName = keyof Version['sizes'];

export type Step =
  | { readonly kind: 'consume' | 'peek'; readonly process: number; readonly subject: number; readonly plan: PlanName }
  | { readonly kind: 'override'; readonly process: number; readonly subject: number; readonly to: PlanName | number }
  | { readonly kind: 'remove'; readonly process: number; readonly subject: number }
  | { readonly kind: 'pass'; readonly ms: number };

const WINDOW_MS = 3_600_000;
/** As long as terms live after the last decision that wrote them: two windows and the margin of a second. */
const KEPT_MS = 2 * WINDOW_MS + 1000;
const OVERRIDE_MS = 10_000_000;

const limitOf = (limit: number): Limit => slidingWindow({ limit, window: WINDOW_MS });

/** Options of a limiter that has a version's settings; store and policy are the test's. */
export function deployment({ revision, sizes }: Version): LimiterOptions {
  return {
    policy: 'p',
    limits: limitOf(sizes.own),
    plans: { pro: limitOf(sizes.pro), max: limitOf(sizes.max) },
    overrides: true,
    timeoutMs: 10_000,
    onStoreFailure: 'closed',
    ...(revision === undefined ? {} : { revision }),
  };
}

/** Histories on two subjects; time passes only where `mayPass`. */
export function stepsOf(maxLength: number, mayPass = true): fc.Arbitrary<Step[]> {
  const process = fc.nat(VERSIONS.length - 1);
  const subject = fc.nat(1);
  const plan = fc.constantFrom<PlanName>('own', 'own', 'pro', 'max');
  const to = fc.oneof(fc.constantFrom<PlanName>('pro', 'max'), fc.integer({ min: 40, max: 44 }));
  const kind = fc.constantFrom<'consume' | 'peek'>('consume', 'consume', 'consume', 'peek');
  const ms = fc.constantFrom(1, 1000, WINDOW_MS - 1, WINDOW_MS, KEPT_MS - 1, KEPT_MS, OVERRIDE_MS);
  const ask = fc.record({ kind, process, subject, plan });
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 12, arbitrary: ask },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('override' as const), process, subject, to }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), process, subject }) },
    ...(mayPass ? [{ weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms }) }] : []),
  );
  return fc.array(step, { minLength: 1, maxLength });
}

/** What the store holds of a subject, in the plainest words. */
interface Stored {
  readonly terms: { readonly by: number } | { readonly to: PlanName | number } | undefined;
  readonly untilMs: number;
}

interface World {
  subjectOf(index: number): string;
  pass(ms: number): Promise<void>;
  /** The model takes the oldest revision in place of the newest. */
  readonly isFaulty?: boolean;
}

/** Plays a history on real limiters and on the model, and compares every decision. */
export async function play(steps: readonly Step[], limiters: readonly Limiter[], world: World): Promise<void> {
  const model = new Model(world.isFaulty === true);
  for (const step of steps) {
    if (step.kind === 'pass') {
      await world.pass(step.ms);
      model.nowMs += step.ms;
      continue;
    }
    const limiter = limiters[step.process] as Limiter;
    const subject = world.subjectOf(step.subject);
    if (step.kind === 'override') {
      const override = typeof step.to === 'number' ? { limits: [limitOf(step.to)] } : { plan: step.to };
      await limiter.setOverride(subject, override, OVERRIDE_MS);
      model.override(step.subject, step.to);
    } else if (step.kind === 'remove') {
      assert.equal(await limiter.removeOverride(subject), model.remove(step.subject));
    } else {
      const options = step.plan === 'own' ? {} : { plan: step.plan };
      const { allowed, degraded, limits } = await limiter[step.kind](subject, options);
      assert.equal(degraded, undefined);
      const told = { allowed, limit: limits[0]?.limit, remaining: limits[0]?.remaining };
      assert.deepEqual(told, model.ask(step.kind === 'consume', step.process, step.subject, step.plan));
    }
  }
}

class Model {
  nowMs = 0;
  readonly #isFaulty: boolean;
  readonly #stored: Map<number, Stored> = new Map();
  readonly #used: Map<number, readonly number[]> = new Map();

  constructor(isFaulty: boolean) {
    this.#isFaulty = isFaulty;
  }

  override(subject: number, to: PlanName | number): void {
    this.#stored.set(subject, { terms: { to }, untilMs: this.nowMs + OVERRIDE_MS });
  }

  /** Whether there was one; terms of a revision stay. */
  remove(subject: number): boolean {
    const terms = this.#terms(subject);
    const isOverride = terms !== undefined && 'to' in terms;
    if (isOverride) this.#stored.delete(subject);
    return isOverride;
  }

  ask(mayWrite: boolean, process: number, subject: number, plan: PlanName) {
    const limit = this.#limit(mayWrite, process, subject, plan);
    const used = (this.#used.get(subject) ?? []).filter((atMs) => atMs > this.nowMs - WINDOW_MS);
    const allowed = used.length < limit;
    if (allowed && mayWrite) used.push(this.nowMs);
    this.#used.set(subject, used);
    return { allowed, limit, remaining: Math.max(0, limit - used.length) };
  }

  #limit(mayWrite: boolean, process: number, subject: number, plan: PlanName): number {
    const own = VERSIONS[process] as Version;
    const terms = this.#terms(subject);
    if (terms !== undefined && 'to' in terms) return typeof terms.to === 'number' ? terms.to : own.sizes[terms.to];
    const by = this.#rules(terms?.by, process) ? (terms?.by as number) : process;
    const ruling = VERSIONS[by] as Version;
    if (mayWrite && ruling.revision !== undefined) {
      this.#stored.set(subject, { terms: { by }, untilMs: this.nowMs + KEPT_MS });
    }
    return ruling.sizes[plan];
  }

  #rules(by: number | undefined, process: number): boolean {
    if (by === undefined) return false;
    const [stored, own] = [VERSIONS[by]?.revision ?? -1, VERSIONS[process]?.revision ?? -1];
    return this.#isFaulty ? stored < own : stored > own;
  }

  #terms(subject: number): Stored['terms'] {
    const stored = this.#stored.get(subject);
    return stored !== undefined && stored.untilMs > this.nowMs ? stored.terms : undefined;
  }
}
