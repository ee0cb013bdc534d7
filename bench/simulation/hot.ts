import { slidingWindow, tokenBucket } from '../../packages/comporta/src/algorithms/limits.js';
import type { LeaseSettings } from '../../packages/comporta/src/limiter/lease-rule.js';
import { excessOverRate, mostWithin } from './bound.js';
import { count, ms, percent, table } from './table.js';
import { callsOf, inWorld, loadOf } from './world.js';

interface HotSettings {
  readonly seed: number;
  readonly processes: number;
  /** Units a second, and at once. */
  readonly limit: number;
  /** What is asked for, in times of the limit. */
  readonly times: number;
  readonly seconds: number;
  readonly hasHold: boolean;
  readonly lease?: LeaseSettings;
  /** An exact log in the place of a bucket. */
  readonly isWindow?: boolean;
  /** How many times as long as measured the server takes for everything. */
  readonly slowdown?: number;
  /** What each process takes for the number of them; what they are told when left out. */
  readonly believed?: number;
}

interface HotResult {
  readonly decisions: number;
  readonly calls: number;
  readonly held: number;
  readonly leased: number;
  readonly degraded: number;
  readonly load: number;
  /** In parts of what the limit lets pass, or of what was asked for where that is less. */
  readonly admitted: number;
  /** Most units beyond the limit in any time, and the most that there may be. */
  readonly excess: number;
  readonly bound: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Until processes know how many they are and may lease, each asks for something now and then. */
const WARM_SECONDS = 9;
const WARM_PER_PROCESS = 3;
const SUBJECT = 'hot';

/** One subject that all processes ask for. */
export function playHot(settings: HotSettings): Promise<HotResult> {
  const { processes, limit, times, seconds, hasHold, lease, isWindow = false, believed: instances } = settings;
  const limits = isWindow
    ? slidingWindow({ limit, window: '1s' })
    : tokenBucket({ capacity: limit, refill: limit, every: '1s' });
  const policy = {
    policy: 'p',
    limits,
    ...(!hasHold && { hold: false as const }),
    ...(lease && { lease }),
    ...(instances !== undefined && { instances }),
  };
  return inWorld({ ...settings, policies: [policy] }, async (world) => {
    const { loop, fleet, servers } = world;
    const ask = (): void => fleet.decide(fleet.any(), 0, SUBJECT);
    fleet.traffic(WARM_PER_PROCESS * processes, WARM_SECONDS, ask);
    await loop.pass(WARM_SECONDS + 0.5);
    // A full bucket would hide for a second what the limit does. Less than a unit may be left.
    if (!isWindow) servers[0]?.useUp('p', [limits], SUBJECT);
    const [fromUs, usedUs]: [number, number[]] = [loop.nowUs(), []];
    for (const server of servers) server.resetFigures();
    fleet.resetTallies();
    fleet.onDecision = ({ allowed }, _, atUs) => void (allowed && usedUs.push(atUs));
    fleet.traffic(times * limit, seconds, ask);
    await loop.pass(seconds + 1);
    const [tally] = fleet.tallies;
    if (tally === undefined || fleet.pending > 0) throw new Error(`${fleet.pending} decisions were not made`);
    const most = Math.min(tally.decisions, limit * (isWindow ? Math.ceil(seconds) : seconds));
    return {
      decisions: tally.decisions,
      calls: callsOf(world) / tally.decisions,
      held: tally.places.hold / tally.decisions,
      leased: tally.places.lease / tally.decisions,
      degraded: tally.degraded,
      load: loadOf(world, seconds),
      admitted: tally.admitted / most,
      excess: isWindow
        ? Math.max(0, mostWithin(usedUs, 1e6) - limit)
        : excessOverRate(usedUs, { capacity: limit, perSecond: limit }, limit - 1, fromUs),
      bound: fleet.members[0]?.limiters[0]?.leaseBounds[0]?.units ?? 0,
      p50Ms: tally.quantileMs(0.5),
      p99Ms: tally.quantileMs(0.99),
    };
  });
}

const HEAD = [
  'offered',
  'with',
  'decisions',
  'calls a decision',
  'held',
  'leased',
  'server busy',
  'p50',
  'p99',
  'admitted of what may pass',
  'most beyond the limit',
  'bound',
];

type Variant = Pick<HotSettings, 'hasHold' | 'lease' | 'isWindow'>;

const LEASE: LeaseSettings = { maxOvershoot: '5%' };
const VARIANTS = {
  nothing: { hasHold: false },
  hold: { hasHold: true },
  lease: { hasHold: false, lease: LEASE },
  both: { hasHold: true, lease: LEASE },
};

const STRICT: Readonly<Record<string, Variant>> = {
  'exact log': { hasHold: true, isWindow: true },
  'exact log, lease 5 %': { hasHold: true, isWindow: true, lease: LEASE },
  'the same, strict': { hasHold: true, isWindow: true, lease: { ...LEASE, strict: true } },
};

export async function printHot(seed: number, part: number, say: (text: string) => void): Promise<void> {
  const { nothing, hold, lease, both } = VARIANTS;
  const few = { hold, 'lease and hold': both };
  await printOf({ seed, processes: 1000, limit: 100, seconds: 4 * part }, { nothing, ...few }, say);
  await printOf({ seed, processes: 1000, limit: 10_000, seconds: 2 * part }, { nothing, ...few }, say);
  await printOf({ seed, processes: 100, limit: 100_000, seconds: 1 * part }, few, say);
  const all = { nothing, hold, 'lease 5 %': lease, 'lease and hold': both, ...STRICT };
  await printOf({ seed, processes: 20, limit: 10_000, seconds: 3 * part }, all, say);
}

async function printOf(
  base: Pick<HotSettings, 'seed' | 'processes' | 'limit' | 'seconds'>,
  variants: Readonly<Record<string, Variant>>,
  say: (text: string) => void,
): Promise<void> {
  const rows: string[][] = [];
  for (const times of [0.5, 0.95, 1.5, 5]) {
    for (const [name, variant] of Object.entries(variants)) {
      const result = await playHot({ ...base, ...variant, times });
      rows.push([
        `${times} times`,
        name,
        count(result.decisions),
        result.calls.toFixed(3),
        percent(result.held),
        percent(result.leased),
        percent(result.load),
        ms(result.p50Ms),
        ms(result.p99Ms),
        percent(result.admitted),
        count(result.excess),
        count(result.bound),
      ]);
    }
  }
  say(`One hot subject: ${count(base.limit)} a second, ${count(base.processes)} processes`);
  say(table(HEAD, rows));
}
