import { type Limit, limitKinds } from 'comporta';
import fc from 'fast-check';

/** Values that sit on the edges of a range, small ones, and anything between. */
function integer(min: number, max: number, small: number): fc.Arbitrary<number> {
  const top = Math.min(max, min + small);
  return fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min, max: top }) },
    { weight: 1, arbitrary: fc.integer({ min, max }) },
    { weight: 1, arbitrary: fc.constantFrom(min, max, Math.max(min, max - 1)) },
  );
}

/** A limit of one kind with settings over its declared ranges, mostly small; combinations it refuses are left out. */
export function limitOf(kind: string): fc.Arbitrary<Limit> {
  const { params, build } = limitKinds[kind] as (typeof limitKinds)[string];
  const settings = Object.entries(params).map(([name, param]) => {
    if (param.kind === 'choice') return [name, fc.constantFrom(...(param.choices ?? []))] as const;
    return [name, integer(param.min ?? 0, param.max ?? 0, param.kind === 'duration' ? 50 : 12)] as const;
  });
  return fc
    .record(Object.fromEntries(settings) as Record<string, fc.Arbitrary<string | number>>)
    .map((values) => {
      try {
        return build(values);
      } catch {
        return undefined;
      }
    })
    .filter((limit) => limit !== undefined)
    .map((limit) => Object.assign(limit, { [fc.toStringMethod]: () => `${kind}(${JSON.stringify(limit.settings)})` }));
}

export const kinds: readonly string[] = Object.keys(limitKinds);

export const anyLimit: fc.Arbitrary<Limit> = fc.constantFrom(...kinds).chain(limitOf);

/** One step of a history. Times are relative to the limit's window so that edges are hit often. */
export interface Step {
  readonly operation: 'consume' | 'peek' | 'refund' | 'force';
  /** Moves the clock by this many windows, then by `extraUs`; both may be negative. */
  readonly windows: number;
  readonly extraUs: number;
  readonly cost: number;
  /** Which earlier decision a refund means, counted back from the last. */
  readonly back: number;
}

/** Histories in which time stands still, creeps, lands on window edges, jumps and (if asked) steps back. */
export function history(limit: number, mayStepBack: boolean, length = 12): fc.Arbitrary<Step[]> {
  const cost = fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 3 }) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: Math.max(1, limit) }) },
    { weight: 1, arbitrary: fc.constantFrom(limit, limit + 1, Number.MAX_SAFE_INTEGER) },
  );
  const windows = mayStepBack
    ? fc.constantFrom(0, 0, 0, 0, 1, 1, 2, 5, -1, -3, -1000)
    : fc.constantFrom(0, 0, 0, 0, 1, 1, 2, 5);
  const extraUs = fc.oneof(
    fc.constant(0),
    fc.integer({ min: 0, max: 3000 }),
    fc.integer({ min: 0, max: 30_000 }),
    ...(mayStepBack ? [fc.integer({ min: -3000, max: 0 }), fc.constantFrom(-1, 1, -1000, 1000)] : []),
  );
  const operation = fc.constantFrom<Step['operation']>(
    'consume',
    'consume',
    'consume',
    'consume',
    'peek',
    'refund',
    'force',
  );
  return fc.array(fc.record({ operation, windows, extraUs, cost, back: fc.nat(3) }), {
    minLength: 1,
    maxLength: length,
  });
}

/** Where histories begin: a time of 16 digits in µs, as servers have. */
export const START_US = 1_796_000_000_123_457;

/** The clock after a step, never before the epoch. */
export function stepClock(nowUs: number, step: Step, windowMs: number): number {
  return Math.max(1, Math.min(8e15, nowUs + step.windows * windowMs * 1000 + step.extraUs));
}
