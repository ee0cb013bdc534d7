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

type Settings = fc.Arbitrary<Readonly<Record<string, unknown>>>;

function settingsOf(kind: string): Settings {
  const settings = Object.entries(limitKinds[kind]?.params ?? {}).map(([name, param]) => {
    if (param.kind === 'choice') return [name, fc.constantFrom(...(param.choices ?? []))] as const;
    return [name, integer(param.min ?? 0, param.max ?? 0, param.kind === 'duration' ? 50 : 12)] as const;
  });
  return fc.record(Object.fromEntries(settings) as Record<string, fc.Arbitrary<string | number>>);
}

const zones = ['UTC', 'America/Sao_Paulo', 'Europe/Lisbon', 'Australia/Lord_Howe', 'Pacific/Apia', 'Asia/Kathmandu'];
const quotaLimit = integer(0, 1_000_000_000, 12);
const timeZone = fc.constantFrom(...zones);

/** Both ways to write a quota; dates lie before histories begin. */
const quotaSettings: Settings = fc.oneof(
  fc.record({ limit: quotaLimit, per: fc.constantFrom(...(limitKinds.quota?.params.per?.choices ?? [])), timeZone }),
  fc.record({
    limit: quotaLimit,
    every: fc.constantFrom('1 day', '10 days', '2 weeks', '1 month', '5 months', '1 quarter', '1 year', '10 years'),
    from: fc.constantFrom('1970-01-01', '2024-02-29', '2025-01-31', '2025-10-26T02:30'),
    timeZone,
  }),
  fc.record({
    limit: quotaLimit,
    per: fc.constantFrom('day', 'month', 'year'),
    from: fc.constantFrom('2025-01-31', '2024-02-29T12:00', '2024-12-31'),
    prorate: fc.constant(true),
    timeZone,
  }),
);

/** A limit of one kind with settings over its declared ranges, mostly small; combinations it refuses are left out. */
export function limitOf(kind: string): fc.Arbitrary<Limit> {
  const { build } = limitKinds[kind] as (typeof limitKinds)[string];
  return (kind === 'quota' ? quotaSettings : settingsOf(kind))
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

/** The same sliding window, as a process keeps it that stores new logs in the other layout. */
export function withOtherStorage(limit: Limit): Limit {
  const storage = limit.settings.storage === 'sortedSet' ? 'compact' : 'sortedSet';
  return (limitKinds.slidingWindow as (typeof limitKinds)[string]).build({ ...limit.settings, storage });
}

export const kinds: readonly string[] = Object.keys(limitKinds);

/** Those that count what requests cost, and not who holds a place. */
export const costKinds: readonly string[] = kinds.filter((kind) => kind !== 'concurrency');

export const anyLimit: fc.Arbitrary<Limit> = fc.constantFrom(...kinds).chain(limitOf);

/** One step of a history. Times are relative to the limit's window so that edges are hit often. */
export interface Step {
  readonly operation:
    | 'consume'
    | 'peek'
    | 'refund'
    | 'force'
    | 'charge'
    | 'reward'
    | 'take'
    | 'reserve'
    | 'settle'
    | 'release'
    | 'renew';
  /** Moves the clock by this many windows, then by `extraUs`; both may be negative. */
  readonly windows: number;
  readonly extraUs: number;
  readonly cost: number;
  /** Which earlier decision a refund means, counted back from the last. */
  readonly back: number;
}

const DECISIONS: readonly Step['operation'][] = ['consume', 'consume', 'consume', 'consume', 'peek', 'refund', 'force'];

/** Everything that a store does, the rarer things as often as decisions. */
export const ACTIONS: readonly Step['operation'][] = [
  'consume',
  'refund',
  'charge',
  'reward',
  'take',
  'reserve',
  'reserve',
  'settle',
  'settle',
  'release',
  'renew',
];

/** Histories in which time stands still, creeps, lands on window edges, jumps and (if asked) steps back. */
export function history(
  limit: number,
  mayStepBack: boolean,
  length = 12,
  operations: readonly Step['operation'][] = DECISIONS,
): fc.Arbitrary<Step[]> {
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
  const operation = fc.constantFrom(...operations);
  return fc.array(fc.record({ operation, windows, extraUs, cost, back: fc.nat(3) }), {
    minLength: 1,
    maxLength: length,
  });
}

/** 1500 charges of a limit of 5000 per 10 s, of which some from anywhere are given back, and what follows. */
export function longHistory(): Step[] {
  const step = (operation: Step['operation'], extraUs: number, cost: number, back = 0): Step => {
    return { operation, windows: 0, extraUs, cost, back };
  };
  const charges = Array.from({ length: 1500 }, (_, i) => step('consume', i % 3 === 0 ? 9000 : 0, 1 + (i % 4)));
  const refunds = [1490, 1100, 760, 750, 740, 3, 2, 0].flatMap((back) => [
    step('refund', 0, 0, back),
    step('consume', 5000, 5000),
    step('consume', 5000, 2),
  ]);
  const end = [step('reward', 0, 900), step('peek', 5_000_000, 400), step('consume', 1_000_000, 9)];
  return [...charges, ...refunds, ...end, step('consume', -7_000_000, 1), step('consume', 0, 1)];
}

/** Where histories begin, as fake clocks do. */
export { START_US } from '../../packages/comporta/src/testing/fake-clock.js';

/** The clock after a step, never before the epoch. */
export function stepClock(nowUs: number, step: Step, windowMs: number): number {
  return Math.max(1, Math.min(8e15, nowUs + step.windows * windowMs * 1000 + step.extraUs));
}
