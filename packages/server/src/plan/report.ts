import type { LeasePlan } from './lease.js';
import type { Demand, Plan } from './plan.js';
import type { SplitPlan } from './split.js';

const count = (value: number): string => Math.round(value).toLocaleString('en-US');

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** `4.2 GB`, in powers of 1,000. */
export function bytesText(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[power]}`;
}

const percent = (share: number): string => `${share < 0.1 ? (share * 100).toFixed(1) : Math.round(share * 100)} %`;

const REASONS: Readonly<Record<Plan['bound'], string>> = {
  processor: 'the processor asks for so many: Redis decides on one core of each master',
  memory: 'memory asks for so many',
  'busiest subject': 'the busiest subject asks for so many, to be split over',
  'one is enough': 'one master carries it; replicas and Sentinel, or a cluster of three, are for when it fails',
};

/** A plan as a person reads it. */
export function planText(demand: Demand, plan: Plan, lease?: LeasePlan): string {
  const { decisionsPerSecond, subjects, limits, replicas } = demand;
  const { eachMaster, room, subjectPerSecond } = plan;
  const names = limits.map(({ algorithm, entries }) => (entries > 1 ? `${algorithm}=${count(entries)}` : algorithm));
  const rows: (readonly [string, string])[] = [
    ['Redis', serversText(plan, replicas)],
    ['because', REASONS[plan.bound]],
    ['a decision', `${plan.cpuUsPerDecision.toFixed(1)} µs of Redis`],
    ['a subject', `${bytesText(plan.bytesPerSubject)} of memory`],
    ['each master', `${percent(eachMaster.load)} of its core, ${bytesText(eachMaster.memoryBytes)} of memory`],
    ['its network', networkText(plan, replicas)],
    ['carries', `${room.toFixed(1)} times this demand`],
    ['one subject', `at most ${count(subjectPerSecond)} decisions/s, since all of it lives on one master`],
    ...(lease ? [['its leases', leaseText(lease)] as const] : []),
  ];
  const lines = rows.map(([name, text]) => `  ${name.padEnd(14)}${text}`);
  const title = `${count(decisionsPerSecond)} decisions/s on ${several(subjects, 'subject')}: ${names.join(', ')}`;
  return `${title}\n\n${lines.join('\n')}\n${plan.split === undefined ? '' : tooHot(demand, plan.split)}`;
}

const several = (number: number, one: string): string => `${count(number)} ${one}${number === 1 ? '' : 's'}`;

function serversText({ masters, servers }: Plan, replicas: number): string {
  if (replicas === 0) return `${several(masters, 'master')} without replicas`;
  const each = masters === 1 ? '' : ' each';
  return `${several(masters, 'master')} with ${several(replicas, 'replica')}${each}: ${count(servers)} servers`;
}

function networkText({ eachMaster }: Plan, replicas: number): string {
  const { inBytes, outBytes, replicaBytes } = eachMaster;
  const toReplicas = replicas === 0 ? '' : `, ${bytesText(replicaBytes)}/s to each replica`;
  return `${bytesText(inBytes)}/s in, ${bytesText(outBytes)}/s out${toReplicas}`;
}

function leaseText({ units, callsPerDecision, why }: LeasePlan): string {
  if (why !== undefined) return `none: ${why}`;
  return `of ${count(units)} units: ${callsPerDecision.toPrecision(2)} calls a decision while it is below its limit`;
}

function tooHot({ hottestPerSecond = 0, callsPerDecision }: Demand, { parts, masters, why }: SplitPlan): string {
  const leased = callsPerDecision < 1;
  const calls = leased ? ` (${count(hottestPerSecond * callsPerDecision)} calls/s with its leases)` : '';
  const leases = leased ? '' : 'leases take it away from Redis; ';
  const split =
    why === undefined
      ? `split: { parts: ${parts} } spreads it over ${masters} masters of a cluster`
      : `split would not do: ${why}`;
  return `
warning: the busiest subject needs ${count(hottestPerSecond)} decisions/s${calls}, more than one master can give it,
however many there are. Refusals are answered by each process for a moment by themselves (holds). What is admitted:
${leases}${split}.
`;
}
