import { nearest } from '../config/nearest.js';
import { FIGURES, keepsEntries } from '../plan/figures.js';
import { type LeasePlan, leaseFor } from '../plan/lease.js';
import { type Demand, type Plan, type PlannedLimit, planFor } from '../plan/plan.js';
import { planText } from '../plan/report.js';
import { type Command, UsageError, type Values } from './command.js';

export const plan: Command = {
  name: 'plan',
  summary: 'reckon how much Redis a load needs',
  options: {
    rps: { type: 'string' },
    subjects: { type: 'string' },
    limits: { type: 'string' },
    replicas: { type: 'string' },
    load: { type: 'string' },
    memory: { type: 'string' },
    hottest: { type: 'string' },
    lease: { type: 'string' },
    limit: { type: 'string' },
    processes: { type: 'string' },
    json: { type: 'boolean' },
  },
  help: `Reckons how many Redis servers a load needs, from measured costs of each algorithm.

Usage: comporta plan --rps 50k --subjects 1M --limits tokenBucket,slidingWindow=1000

  --rps N         decisions per second, all processes together: 500, 50k, 1.5M
  --subjects N    subjects seen within the longest window
  --limits LIST   limits of the policy: ${Object.keys(FIGURES).join(', ')};
                  slidingWindow and concurrency with the entries of a busy subject: slidingWindow=1000
  --replicas N    replicas of each master; 1 by default
  --load N        percent of a master's core to use, for bursts and failures; 50 by default
  --memory SIZE   memory that one server may fill: 512MB, 8GB; 4GB by default
  --hottest N     decisions per second of the busiest subject
  --lease MOST    whether it can have leases, and the calls they save: maxOvershoot, such as 5% or 500 units
  --limit N       its limit, of several the smallest: for --lease, and the most parts of a split
  --processes N   with --lease: how many share it
  --json          the plan for programs

The costs were measured on one machine, with one command per decision and a replica attached; yours differs. Repeat
them there with: npm run bench figures -- --write. Exit code: 0 done, 2 wrong use of this command.
`,
  run: runPlan,
};

function runPlan(values: Values): number {
  const decisionsPerSecond = quantity(values, 'rps');
  const subjects = quantity(values, 'subjects');
  const limits = limitsOf(values.limits);
  const hottestPerSecond = hottestOf(values, decisionsPerSecond);
  const lease = leaseOf(values, limits, hottestPerSecond);
  const demand: Demand = {
    decisionsPerSecond,
    subjects,
    limits,
    replicas: whole(values, 'replicas', 1, 0, 5),
    load: whole(values, 'load', 50, 1, 100) / 100,
    memoryBytes: values.memory === undefined ? 4e9 : bytesIn(values.memory),
    hottestPerSecond,
    callsPerDecision: lease?.callsPerDecision ?? 1,
    limit: values.limit === undefined ? undefined : quantity(values, 'limit'),
  };
  const made = planFor(demand);
  checkLimitUse(values, made);
  const json = { ...made, ...(lease && { lease }) };
  process.stdout.write(values.json === true ? `${JSON.stringify(json, null, 2)}\n` : planText(demand, made, lease));
  return 0;
}

function hottestOf(values: Values, decisionsPerSecond: number): number | undefined {
  if (values.hottest === undefined) return undefined;
  const hottest = quantity(values, 'hottest');
  if (hottest <= decisionsPerSecond) return hottest;
  throw new UsageError(`plan: --hottest is part of --rps: write --rps ${values.hottest} or more, or lower --hottest`);
}

function leaseOf(
  values: Values,
  limits: readonly PlannedLimit[],
  hottestPerSecond: number | undefined,
): LeasePlan | undefined {
  const { lease } = values;
  if (lease === undefined) {
    if (values.processes === undefined) return undefined;
    throw new UsageError('plan: --processes changes nothing without --lease');
  }
  if (limits.some(({ algorithm }) => algorithm === 'concurrency'))
    throw new UsageError('plan: --lease cannot be used with concurrency: a place is held by one request');
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(%?)$/.exec(lease) ?? [];
  const most = Number(digits);
  const isRight = unit === '%' ? most > 0 && most <= 100 : Number.isInteger(most) && most >= 1;
  if (!isRight) {
    const expected = 'a percentage such as 5%, up to 100%, or whole units from 1';
    throw new UsageError(`plan: --lease expected ${expected}, got "${lease}"`);
  }
  const maxOvershoot = unit === '%' ? { percent: most } : { units: most };
  const [limit, processes] = [quantity(values, 'limit'), quantity(values, 'processes')];
  return leaseFor({ maxOvershoot, limit, processes, hottestPerSecond });
}

/** It is for leases, and for the parts of a subject that is too hot for one master. */
function checkLimitUse({ limit, lease, hottest }: Values, { isTooHot }: Plan): void {
  if (limit === undefined || lease !== undefined || isTooHot) return;
  const why =
    hottest === undefined ? 'without --lease or --hottest' : 'without --lease: one master has --hottest whole';
  throw new UsageError(`plan: --limit changes nothing ${why}`);
}

const QUANTITY = /^(\d+(?:\.\d+)?)([kMG]?)$/;
const POWERS: Readonly<Record<string, number>> = { '': 1, k: 1e3, M: 1e6, G: 1e9 };

function quantity(values: Values, name: 'rps' | 'subjects' | 'hottest' | 'limit' | 'processes'): number {
  const text = values[name];
  if (text === undefined) throw new UsageError(`plan: --${name} is missing, such as --${name} 50k`);
  const [, digits = '', unit = ''] = QUANTITY.exec(text.replaceAll(/[,_]/g, '')) ?? [];
  const number = Number(digits) * (POWERS[unit] ?? 1);
  if (digits !== '' && number >= 1 && number <= 1e12) return number;
  throw new UsageError(`plan: --${name} expected a number from 1 such as 500, 50k or 1.5M, got "${text}"`);
}

function whole(values: Values, name: 'replicas' | 'load', otherwise: number, least: number, most: number): number {
  const number = values[name] === undefined ? otherwise : Number(values[name]);
  if (Number.isInteger(number) && number >= least && number <= most) return number;
  throw new UsageError(`plan: --${name} expected a whole number from ${least} to ${most}, got "${values[name]}"`);
}

function bytesIn(text: string): number {
  const [, digits = '', unit = ''] = /^(\d+(?:\.\d+)?)([MGT])B$/.exec(text) ?? [];
  const bytes = Number(digits) * ({ M: 1e6, G: 1e9, T: 1e12 }[unit] ?? 0);
  if (bytes >= 1e6) return bytes;
  throw new UsageError(`plan: --memory expected a size such as 512MB or 8GB, got "${text}"`);
}

const LIMITS_MAX = 8;

function limitsOf(text: string | undefined): readonly PlannedLimit[] {
  if (text === undefined) throw new UsageError('plan: --limits is missing, such as --limits tokenBucket');
  const limits = text.split(',').map(limitOf);
  if (limits.length > LIMITS_MAX) throw new UsageError(`plan: --limits takes at most ${LIMITS_MAX} limits`);
  return limits;
}

function limitOf(text: string): PlannedLimit {
  const [algorithm = '', entries] = text.trim().split('=');
  const figures = Object.hasOwn(FIGURES, algorithm) ? FIGURES[algorithm] : undefined;
  if (figures === undefined) {
    const guess = nearest(algorithm, Object.keys(FIGURES));
    const hint = guess === undefined ? `there are ${Object.keys(FIGURES).join(', ')}` : `did you mean ${guess}?`;
    throw new UsageError(`plan: --limits: no algorithm "${algorithm}"; ${hint}`);
  }
  if (!keepsEntries(figures)) {
    if (entries === undefined) return { algorithm, entries: 1 };
    throw new UsageError(`plan: --limits: ${algorithm} takes the same room whatever its limit; write it without "="`);
  }
  const number = Number(entries);
  if (entries !== undefined && Number.isInteger(number) && number >= 1 && number <= 1e6)
    return { algorithm, entries: number };
  throw new UsageError(`plan: --limits: ${algorithm} needs the entries of a busy subject, such as ${algorithm}=1000`);
}
