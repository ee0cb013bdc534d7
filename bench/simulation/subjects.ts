import { tokenBucket } from '../../packages/comporta/src/algorithms/limits.js';
import { RateLedger } from './bound.js';
import { zipfOf } from './chance.js';
import { count, ms, percent, short, table } from './table.js';
import { callsOf, inWorld, loadOf } from './world.js';

interface SubjectsSettings {
  readonly seed: number;
  readonly processes: number;
  readonly servers?: number;
  readonly subjects: number;
  /** How much more often the first are asked for than the others. */
  readonly exponent: number;
  readonly perSecond: number;
  readonly seconds: number;
  /** Without batches and holds. */
  readonly isPlain?: boolean;
}

const RATE = { capacity: 10, perSecond: 10 };

interface SubjectsResult {
  readonly decisions: number;
  /** Subjects that were asked for. */
  readonly met: number;
  /** Of which processes know, and which the servers charged. */
  readonly admitted: number;
  readonly charged: number;
  /** Admissions beyond a subject's limit. */
  readonly excess: number;
  readonly degraded: number;
  readonly calls: number;
  readonly held: number;
  readonly load: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Many subjects, few of them hot, asked for by all processes alike. */
export function playSubjects(settings: SubjectsSettings): Promise<SubjectsResult> {
  const { subjects, exponent, perSecond, seconds, isPlain = false } = settings;
  const limits = tokenBucket({ capacity: RATE.capacity, refill: RATE.perSecond, every: '1s' });
  const policies = [{ policy: 'p', limits, ...(isPlain && { hold: false as const }) }];
  const ledger = new RateLedger(subjects, RATE);
  const onAdmitted = (_: string, subject: string, atUs: number): void => ledger.admit(Number(subject.slice(1)), atUs);
  return inWorld({ ...settings, policies, batch: !isPlain, onAdmitted }, async (world) => {
    const { loop, fleet, chance } = world;
    const draw = zipfOf(subjects, exponent, chance);
    fleet.traffic(perSecond, seconds, () => fleet.decide(fleet.any(), 0, `s${draw()}`));
    await loop.pass(seconds + 1);
    const [tally] = fleet.tallies;
    if (tally === undefined || fleet.pending > 0) throw new Error(`${fleet.pending} decisions were not made`);
    return {
      decisions: tally.decisions,
      met: ledger.subjects,
      admitted: tally.admitted,
      charged: ledger.admitted,
      excess: ledger.excess,
      degraded: tally.degraded,
      calls: callsOf(world) / tally.decisions,
      held: tally.places.hold / tally.decisions,
      load: loadOf(world, seconds),
      p50Ms: tally.quantileMs(0.5),
      p99Ms: tally.quantileMs(0.99),
    };
  });
}

const HEAD = [
  'processes, servers',
  'batch, hold',
  'decisions',
  'subjects met',
  'calls a decision',
  'held',
  'server busy',
  'p50',
  'p99',
  'admitted',
  'beyond a limit',
];

export async function printSubjects(seed: number, part: number, say: (text: string) => void): Promise<void> {
  say('Many subjects: 10,000,000, Zipf 1.05, 10 at once and 10 a second each');
  const base = { seed, subjects: 10_000_000, exponent: 1.05 };
  const runs: readonly SubjectsSettings[] = [
    { ...base, processes: 1000, perSecond: 100_000, seconds: 20 * part },
    { ...base, processes: 1000, perSecond: 100_000, seconds: 20 * part, isPlain: true },
    { ...base, processes: 1000, servers: 3, perSecond: 200_000, seconds: 4 * part },
    { ...base, processes: 1000, servers: 3, perSecond: 200_000, seconds: 4 * part, isPlain: true },
    { ...base, processes: 10, perSecond: 100_000, seconds: 4 * part },
    { ...base, processes: 10, perSecond: 100_000, seconds: 4 * part, isPlain: true },
  ];
  const rows: string[][] = [];
  for (const run of runs) {
    const result = await playSubjects(run);
    rows.push([
      `${count(run.processes)}, ${run.servers ?? 1}, ${count(run.perSecond)}/s`,
      run.isPlain === true ? 'off' : 'on',
      count(result.decisions),
      count(result.met),
      result.calls.toFixed(3),
      percent(result.held),
      percent(result.load),
      ms(result.p50Ms),
      ms(result.p99Ms),
      `${count(result.admitted)} of ${count(result.charged)} charged`,
      short(result.excess),
    ]);
  }
  say(table(HEAD, rows));
}
