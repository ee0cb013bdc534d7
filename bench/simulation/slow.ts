import { tokenBucket } from '../../packages/comporta/src/algorithms/limits.js';
import { RateLedger } from './bound.js';
import { zipfOf } from './chance.js';
import { count, ms, percent, short, table } from './table.js';
import { callsOf, inWorld, loadOf } from './world.js';

interface SlowSettings {
  readonly seed: number;
  readonly processes: number;
  readonly perSecond: number;
  readonly seconds: number;
  /** How many times as long as measured the server takes for everything. */
  readonly slowdown?: number;
  /** After a second it stops for so many. */
  readonly frozenSeconds?: number;
  readonly isPlain?: boolean;
}

interface SlowResult {
  readonly decisions: number;
  readonly byStore: number;
  readonly timeouts: number;
  readonly unasked: number;
  readonly calls: number;
  readonly load: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly longestMs: number;
  /** Admissions, those of the failure mode included, in parts of what the limits let pass. */
  readonly beyond: number;
}

const SUBJECTS = 10_000;
const RATE = { capacity: 10, perSecond: 10 };

/** A server that is slow or stands still, and the subjects of {@link playSubjects} in smaller. */
export function playSlow(settings: SlowSettings): Promise<SlowResult> {
  const { perSecond, seconds, slowdown, frozenSeconds = 0, isPlain = false } = settings;
  const limits = tokenBucket({ capacity: RATE.capacity, refill: RATE.perSecond, every: '1s' });
  const policies = [{ policy: 'p', limits, ...(isPlain && { hold: false as const }) }];
  const ledger = new RateLedger(SUBJECTS, RATE);
  return inWorld({ ...settings, policies, slowdown, batch: !isPlain }, async (world) => {
    const { loop, fleet, servers, chance } = world;
    const draw = zipfOf(SUBJECTS, 1.05, chance);
    fleet.traffic(perSecond, 1 + seconds, () => fleet.decide(fleet.any(), 0, `s${draw()}`));
    // The first second is that of the scripts, which every process brings anew.
    await loop.pass(1);
    for (const server of servers) server.resetFigures();
    fleet.resetTallies();
    const used: [number, number][] = [];
    fleet.onDecision = ({ allowed, subject }, _, atUs) => void (allowed && used.push([atUs, Number(subject.slice(1))]));
    if (frozenSeconds > 0) servers[0]?.freeze(frozenSeconds);
    await loop.pass(seconds);
    const load = loadOf(world, seconds);
    await loop.pass(1);
    const [tally] = fleet.tallies;
    if (tally === undefined || fleet.pending > 0) throw new Error(`${fleet.pending} decisions were not made`);
    // Answers overtake each other on their way.
    for (const [atUs, subject] of used.sort(([a], [b]) => a - b)) ledger.admit(subject, atUs);
    const cause = (name: string): number => tally.causes.get(name) ?? 0;
    return {
      decisions: tally.decisions,
      byStore: 1 - tally.degraded / tally.decisions,
      timeouts: cause('timeout') / tally.decisions,
      unasked: (cause('breaker-open') + cause('unavailable') + cause('overloaded')) / tally.decisions,
      calls: callsOf(world) / tally.decisions,
      load,
      p50Ms: tally.quantileMs(0.5),
      p99Ms: tally.quantileMs(0.99),
      longestMs: tally.longestMs,
      beyond: ledger.excess / ledger.admitted,
    };
  });
}

const HEAD = [
  'server',
  'processes',
  'asked',
  'batch, hold',
  'decided by it',
  'timed out',
  'not asked',
  'calls a decision',
  'server busy',
  'p50',
  'p99',
  'longest',
  'beyond a limit',
];

export async function printSlow(seed: number, part: number, say: (text: string) => void): Promise<void> {
  const rows: string[][] = [];
  const add = async (name: string, run: Omit<SlowSettings, 'seed'>): Promise<void> => {
    const result = await playSlow({ seed, ...run });
    rows.push([
      name,
      count(run.processes),
      `${count(run.perSecond)}/s`,
      run.isPlain === true ? 'off' : 'on',
      percent(result.byStore),
      percent(result.timeouts),
      percent(result.unasked),
      result.calls.toFixed(3),
      percent(result.load),
      ms(result.p50Ms),
      ms(result.p99Ms),
      ms(result.longestMs),
      percent(result.beyond),
    ]);
  };
  const seconds = 5 * part;
  await add(`frozen for ${short(3 * part)} s of ${short(seconds)}`, {
    processes: 1000,
    perSecond: 20_000,
    seconds,
    frozenSeconds: 3 * part,
  });
  const slow = { seconds, slowdown: 10 };
  await add('ten times slower', { ...slow, processes: 1000, perSecond: 12_000 });
  for (const perSecond of [20_000, 40_000]) {
    await add('ten times slower', { ...slow, processes: 1000, perSecond });
    await add('ten times slower', { ...slow, processes: 20, perSecond });
    await add('ten times slower', { ...slow, processes: 20, perSecond, isPlain: true });
  }
  say(
    'A server that stands still, and one that makes 13,300 decisions a second one by one; 10,000 subjects, Zipf 1.05',
  );
  say(table(HEAD, rows));
}
