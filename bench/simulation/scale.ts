import { tokenBucket } from '../../packages/comporta/src/algorithms/limits.js';
import { shareOf } from '../../packages/comporta/src/algorithms/share.js';
import { excessOverRate } from './bound.js';
import { partOf } from './fleet.js';
import { count, percent, table } from './table.js';
import { callsOf, inWorld } from './world.js';

interface ScaleSettings {
  readonly seed: number;
  /** At first and at the end, and in between. */
  readonly few: number;
  readonly many: number;
  /** Units a second, and at once. */
  readonly limit: number;
  readonly times: number;
}

/** How things stand at the end of a second. */
interface Moment {
  readonly second: number;
  readonly processes: number;
  /** What they know of their number, the fewest and the most. */
  readonly counted: readonly [number, number];
  /** What all could let pass if the server went away now, in times of the limit. */
  readonly shares: number;
  readonly calls: number;
  readonly leased: number;
  readonly degraded: number;
}

interface ScaleResult {
  readonly moments: readonly Moment[];
  readonly excess: number;
  readonly bound: number;
}

const SUBJECT = 'hot';
const WARM_SECONDS = 10;
/** Processes come within two seconds and go within two, five seconds apart. */
const RAMP_SECONDS = 2;
const STAY_SECONDS = 7;
const AFTER_SECONDS = 14;
const STEP_SECONDS = 0.02;

/** A subject with leases, while processes come and go. */
export function playScale({ seed, few, many, limit, times }: ScaleSettings): Promise<ScaleResult> {
  const limits = tokenBucket({ capacity: limit, refill: limit, every: '1s' });
  const policy = { policy: 'p', limits, lease: { maxOvershoot: '25%' } };
  return inWorld({ seed, policies: [policy], processes: few }, async (world) => {
    const { loop, fleet, servers } = world;
    fleet.traffic(times * limit, WARM_SECONDS + STAY_SECONDS + AFTER_SECONDS, () =>
      fleet.decide(fleet.any(), 0, SUBJECT),
    );
    await loop.pass(WARM_SECONDS);
    // Less than a unit may be left.
    servers[0]?.useUp('p', [limits], SUBJECT);
    const [fromUs, usedUs, moments]: [number, number[], Moment[]] = [loop.nowUs(), [], []];
    fleet.onDecision = ({ allowed }, _, atUs) => void (allowed && usedUs.push(atUs));
    const steps = Math.round(RAMP_SECONDS / STEP_SECONDS);
    const ramp = (change: (count: number) => void): void => {
      for (let i = 0; i < steps; i++) {
        const count = Math.floor(((i + 1) * (many - few)) / steps) - Math.floor((i * (many - few)) / steps);
        loop.afterSeconds(i * STEP_SECONDS, () => change(count));
      }
    };
    ramp((count) => void fleet.start(count));
    loop.afterSeconds(STAY_SECONDS, () => ramp((count) => void fleet.stop(count)));
    for (let second = 1; second <= STAY_SECONDS + AFTER_SECONDS; second++) {
      for (const server of servers) server.resetFigures();
      fleet.resetTallies();
      await loop.pass(1);
      moments.push(momentOf(world, second, limit));
    }
    return {
      moments,
      excess: excessOverRate(usedUs, { capacity: limit, perSecond: limit }, limit - 1, fromUs),
      bound: fleet.members[0]?.limiters[0]?.leaseBounds[0]?.units ?? 0,
    };
  });
}

function momentOf(world: Parameters<typeof callsOf>[0], second: number, limit: number): Moment {
  const { fleet } = world;
  const parts = fleet.members.map(partOf);
  const counts = parts.map(({ processes }) => processes);
  const [tally] = fleet.tallies;
  if (tally === undefined) throw new RangeError('no policy');
  return {
    second,
    processes: fleet.members.length,
    counted: [Math.min(...counts), Math.max(...counts)],
    shares: parts.reduce((sum, part) => sum + shareOf(limit, part, 1), 0) / limit,
    calls: callsOf(world) / tally.decisions,
    leased: tally.places.lease / tally.decisions,
    degraded: tally.degraded / tally.decisions,
  };
}

const HEAD = ['second', 'processes', 'each counts', 'all parts, in limits', 'calls a decision', 'leased', 'degraded'];

export async function printScale(seed: number, _: number, say: (text: string) => void): Promise<void> {
  for (const times of [0.95, 1.5]) {
    const { moments, excess, bound } = await playScale({ seed, few: 100, many: 1000, limit: 20_000, times });
    say(`100, then 1,000, then 100 processes; a subject of 20,000 a second, asked for ${times} times, lease 25 %`);
    const shown = moments.filter(({ second }) => second <= 4 || second % 2 === 1);
    const rows = shown.map((moment) => [
      String(moment.second),
      count(moment.processes),
      moment.counted.map(count).join(' to '),
      moment.shares.toFixed(2),
      moment.calls.toFixed(3),
      percent(moment.leased),
      percent(moment.degraded),
    ]);
    say(table(HEAD, rows));
    say(`most beyond the limit: ${count(excess)} units; the bound: ${count(bound)}`);
  }
}
