import { tokenBucket } from '../../packages/comporta/src/algorithms/limits.js';
import { type Member, type Policy, partOf } from './fleet.js';
import type { Outage } from './server.js';
import { count, ms, percent, short, table } from './table.js';
import { inWorld, type World } from './world.js';

/** A policy, and what one process is asked of it in a second. */
interface Load {
  readonly policy: Policy;
  readonly perProcess: number;
  readonly subjects: number;
  /** What all processes may let pass in so many seconds; `undefined`: no subject reaches its limit. */
  readonly perSecond?: number;
}

const bucket = (perSecond: number) => tokenBucket({ capacity: perSecond, refill: perSecond, every: '1s' });

/** For so many processes: a subject that each has a part of, one with fewer units than processes, and many others. */
function loadsOf(processes: number, usersPerProcess: number): readonly Load[] {
  const large = { policy: 'large', limits: bucket(processes * 10) };
  const small = { policy: 'small', limits: bucket(processes / 10) };
  const users = { policy: 'users', limits: tokenBucket({ capacity: 100, refill: 100, every: '1h' }) };
  const mode = (onStoreFailure: 'open' | 'closed') => ({ ...small, policy: onStoreFailure, onStoreFailure });
  return [
    { policy: large, perProcess: 15, subjects: 1, perSecond: processes * 10 },
    { policy: small, perProcess: 0.5, subjects: 1, perSecond: processes / 10 },
    { policy: users, perProcess: usersPerProcess, subjects: 4 * usersPerProcess * processes },
    { policy: mode('open'), perProcess: 0.5, subjects: 1, perSecond: processes / 10 },
    { policy: mode('closed'), perProcess: 0.5, subjects: 1, perSecond: processes / 10 },
  ];
}

interface OutageSettings {
  readonly seed: number;
  readonly processes: number;
  /** So many more start in the middle of the outage. */
  readonly late: number;
  readonly outage: Outage;
  readonly seconds: number;
  /** Requests a second of users far from their limits, all of which are paid back. */
  readonly usersPerProcess?: number;
  /** How many times as long as measured the server takes for everything. */
  readonly slowdown?: number;
}

/** Decisions of one policy, in one part of the time. */
interface Share {
  readonly policy: string;
  asked: number;
  admitted: number;
  degraded: number;
  readonly perSecond: number | undefined;
}

interface OutageResult {
  /** What processes knew of their number, the fewest and the most. */
  readonly counted: readonly [number, number];
  /** Of those that were there before, and of those that started in the outage. */
  readonly before: readonly Share[];
  readonly late: readonly Share[];
  readonly outageSeconds: number;
  /** Time until half of the processes, and all of them, asked the server no more. */
  readonly noticedMs: readonly [number, number];
  /** In a second of the outage: commands that reached nobody, and connections that were asked for. */
  readonly lostPerSecond: number;
  readonly connectsPerSecond: number;
  readonly longestMs: number;
  /** Time from the recovery until half of the processes, and all of them, asked the server again. */
  readonly recoveredMs: readonly [number, number];
  readonly payBack: PayBackResult;
  /** Of the decisions in the five seconds after the recovery, those that the store did not make, by second. */
  readonly degradedAfter: readonly number[];
}

interface PayBackResult {
  readonly commands: number;
  readonly units: number;
  /** From the first to the last command. */
  readonly lastedMs: number;
  readonly mostInTenMs: number;
  /** Longest wait for the server, in the time after the recovery. */
  readonly queueMs: number;
}

const WARM_SECONDS = 8;
const AFTER_SECONDS = 5;

/** All processes at work; the server goes away for a while and comes back. */
export function playOutage(settings: OutageSettings): Promise<OutageResult> {
  const { processes, late, outage, seconds, usersPerProcess = 5 } = settings;
  const loads = loadsOf(processes, usersPerProcess);
  return inWorld({ ...settings, policies: loads.map(({ policy }) => policy) }, async (world) => {
    const { loop, fleet, servers, chance } = world;
    const [server] = servers;
    if (server === undefined) throw new RangeError('no server');
    loads.forEach(({ perProcess, subjects }, i) => {
      const ask = (): void => fleet.decide(fleet.any(), i, `s${Math.floor(chance() * subjects)}`);
      fleet.traffic(perProcess * processes, WARM_SECONDS + seconds + AFTER_SECONDS, ask);
    });
    const breakers = new BreakerWatch(world);
    await loop.pass(WARM_SECONDS);
    const counts = fleet.members.map((member) => partOf(member).processes);
    const [before, after] = [sharesOf(loads), sharesOf(loads)];
    const newcomers = new Set<Member>();
    fleet.onDecision = ({ allowed, degraded }, _, __, policy, member) => {
      const share = (newcomers.has(member) ? after : before)[policy];
      if (share === undefined || degraded === undefined) return;
      share.asked++;
      if (allowed) share.admitted++;
    };
    fleet.resetTallies();
    server.resetFigures();
    server.fail(outage);
    const failedUs = loop.nowUs();
    breakers.begin();
    await loop.pass(seconds / 2);
    for (const member of fleet.start(late)) newcomers.add(member);
    await loop.pass(seconds / 2);
    const noticedMs = halfAndAll(breakers.opened, failedUs);
    const [lost, connects] = [server.lost, server.connects];
    const longestMs = Math.max(...fleet.tallies.map((tally) => tally.longestMs));
    const recovery = await recover(world, breakers);
    return {
      counted: [Math.min(...counts), Math.max(...counts)],
      before,
      late: after,
      outageSeconds: seconds,
      noticedMs,
      lostPerSecond: lost / seconds,
      connectsPerSecond: connects / seconds,
      longestMs,
      ...recovery,
    };
  });
}

function sharesOf(loads: readonly Load[]): Share[] {
  return loads.map(({ policy, perSecond }) => ({
    policy: policy.policy,
    asked: 0,
    admitted: 0,
    degraded: 0,
    perSecond,
  }));
}

type Recovery = Pick<OutageResult, 'recoveredMs' | 'payBack' | 'degradedAfter'>;

async function recover({ loop, fleet, servers }: World, breakers: BreakerWatch): Promise<Recovery> {
  const [server] = servers;
  if (server === undefined) throw new RangeError('no server');
  server.resetFigures();
  const units = server.paidBack;
  server.recover();
  const atUs = loop.nowUs();
  breakers.begin();
  const paid = { first: Number.NaN, last: Number.NaN, most: 0, queueMs: 0 };
  const degradedAfter: number[] = [];
  fleet.onDecision = undefined;
  let commands = 0;
  for (let second = 0; second < AFTER_SECONDS; second++) {
    fleet.resetTallies();
    for (let i = 0; i < 100; i++) {
      await loop.pass(0.01);
      const now = server.calls.force - commands;
      commands = server.calls.force;
      paid.most = Math.max(paid.most, now);
      paid.queueMs = Math.max(paid.queueMs, server.queueMs);
      if (now > 0) paid.last = loop.nowUs() - atUs;
      if (now > 0 && Number.isNaN(paid.first)) paid.first = loop.nowUs() - atUs;
    }
    const all = fleet.tallies.reduce((sum, { decisions }) => sum + decisions, 0);
    degradedAfter.push(fleet.tallies.reduce((sum, { degraded }) => sum + degraded, 0) / all);
  }
  return {
    recoveredMs: halfAndAll(breakers.closed, atUs),
    degradedAfter,
    payBack: {
      commands,
      units: server.paidBack - units,
      lastedMs: (paid.last - paid.first) / 1000,
      mostInTenMs: paid.most,
      queueMs: paid.queueMs,
    },
  };
}

/** After how many ms half of some had happened, and all. */
function halfAndAll(timesUs: readonly number[], fromUs: number): [number, number] {
  const sorted = timesUs.map((us) => (us - fromUs) / 1000).sort((a, b) => a - b);
  return [sorted[Math.floor(sorted.length / 2)] ?? Number.NaN, sorted.at(-1) ?? Number.NaN];
}

/** When each process's breaker opened or closed for the first time since it began to look. */
class BreakerWatch {
  opened: number[] = [];
  closed: number[] = [];
  readonly #seen: Set<string> = new Set();

  constructor({ loop, fleet }: World) {
    for (const { name, limiters } of fleet.members) {
      limiters[0]?.on('breaker', ({ state }) => {
        if (state === 'halfOpen' || this.#seen.has(name + state)) return;
        this.#seen.add(name + state);
        (state === 'open' ? this.opened : this.closed).push(loop.nowUs());
      });
    }
  }

  begin(): void {
    this.opened = [];
    this.closed = [];
    this.#seen.clear();
  }
}

export async function printOutage(seed: number, part: number, say: (text: string) => void): Promise<void> {
  for (const outage of ['silent', 'refusing'] as const) {
    const result = await playOutage({ seed, processes: 1000, late: 100, outage, seconds: 30 * part });
    say(`1,000 processes, the server ${outage} for ${30 * part} s; 100 more start in the middle of it`);
    const row = (who: string, { policy, asked, admitted, perSecond }: Share): string[] => {
      const most = perSecond === undefined ? Number.NaN : perSecond * result.outageSeconds;
      const times = perSecond === undefined ? '' : (admitted / most).toFixed(2);
      return [policy, who, count(asked), count(admitted), perSecond === undefined ? '' : count(most), times];
    };
    say(
      table(
        ['policy', 'processes', 'asked', 'admitted', 'the limit lets pass', 'times'],
        [...result.before.map((share) => row('before', share)), ...result.late.map((share) => row('late', share))],
      ),
    );
    say(table(['', ''], wordsOf(result)));
  }
  const slow = { processes: 300, late: 0, usersPerProcess: 20, slowdown: 5, outage: 'refusing' } as const;
  const result = await playOutage({ seed, ...slow, seconds: 10 * part });
  say('300 processes that each owe for 200 subjects, and a server five times slower, at 40 % of what it can do');
  say(table(['', ''], wordsOf(result).slice(5)));
}

function wordsOf(result: OutageResult): string[][] {
  const { counted, noticedMs, lostPerSecond, connectsPerSecond, payBack, recoveredMs, degradedAfter } = result;
  return [
    ['processes that each counted', counted.map(count).join(' to ')],
    ['until half, and all, had noticed', noticedMs.map(ms).join(', ')],
    ['longest decision', ms(result.longestMs)],
    ['commands sent to it, a second', short(lostPerSecond)],
    ['connections tried, a second', short(connectsPerSecond)],
    ['until half, and all, asked it again', recoveredMs.map(ms).join(', ')],
    ['not decided by it, by second after', degradedAfter.map(percent).join(', ')],
    ['paid back', `${count(payBack.units)} units in ${count(payBack.commands)} commands`],
    ['for', ms(payBack.lastedMs)],
    ['most in 10 ms', count(payBack.mostInTenMs)],
    ['longest queue of the server', ms(payBack.queueMs)],
  ];
}
