import type { ServerConfig } from '../config/config.js';
import { isCluster } from '../config/store.js';
import { subjectPerSecond } from '../plan/plan.js';
import { PART_LEAST, partsFor } from '../plan/split.js';
import { mergeRankings } from '../workers/merge-ranking.js';
import type { Ranking } from './hotspots.js';
import type { AdminState } from './state.js';

type Policy = ServerConfig['gate']['policies'][number];

/** How often a subject is asked for. */
interface SubjectLoad {
  readonly subject: string;
  readonly perSecond: number;
  readonly refusedPerSecond: number;
}

/** Share of a master's processor that one subject may take: what `comporta plan` leaves for bursts and failures. */
const LOAD = 0.5;
/** Then leases of 5 % are worth their while for a few processes. */
const LEAST_LEASED = 1000;

/** What helps a subject that is asked for more often than one master decides; `undefined` where nothing has to. */
export function adviceFor(
  policy: Policy,
  { subject, perSecond, refusedPerSecond }: SubjectLoad,
  store: string,
): string | undefined {
  const parts = isSplit(policy, subject) ? (policy.split?.parts ?? 1) : 1;
  const onePerSecond = perMaster(policy);
  const most = onePerSecond * parts;
  if (perSecond <= most) return undefined;
  const admitted = perSecond - refusedPerSecond;
  const beyond = `beyond the ${onePerSecond.toLocaleString('en-US')}/s reckoned for one master without batching`;
  if (admitted <= most) {
    return policy.hold === false ? `hold: 20ms for policy ${policy.name}, mostly refused and ${beyond}` : undefined;
  }
  if (policy.lease !== undefined) return undefined;
  const fitting = [
    ...(mayLease(policy) ? ['lease: { maxOvershoot: 5% }'] : []),
    // On one server parts only cost.
    ...(isCluster(store) ? splitOf(policy, partsFor(admitted, onePerSecond), parts) : []),
  ];
  return fitting.length === 0 ? undefined : `${fitting.join(' or ')} for policy ${policy.name}, ${beyond}`;
}

type Hot = Ranking['subjects'][number];

/** Subjects whose refusals are looked up. */
const REFUSED_MAX = 256;

/** What helps each of some subjects, which were counted for so long; over a memory store nothing has to. */
export async function adviser(
  { config, engine, team }: Pick<AdminState, 'config' | 'engine' | 'team'>,
  subjects: readonly Hot[],
  seconds: number,
): Promise<(hot: Hot) => string | undefined> {
  const policies = new Map(engine.config.gate.policies.map((policy) => [policy.name, policy]));
  const rateOf = ({ count, error }: Hot): number => (count - error) / Math.max(1, seconds);
  const isHot = (hot: Hot): boolean => {
    const policy = policies.get(hot.policy);
    return policy !== undefined && rateOf(hot) > perMaster(policy);
  };
  if (config.store.url === 'memory' || !subjects.some(isHot)) return () => undefined;
  const all = await team.ask('ranking', { by: 'refusals', count: REFUSED_MAX });
  const refused = mergeRankings(all, REFUSED_MAX).subjects;
  return (hot) => {
    const policy = policies.get(hot.policy);
    if (policy === undefined) return undefined;
    const found = refused.find(({ policy, item }) => policy === hot.policy && item === hot.item);
    const refusedPerSecond = found === undefined ? 0 : rateOf(found);
    return adviceFor(policy, { subject: hot.item, perSecond: rateOf(hot), refusedPerSecond }, config.store.url);
  };
}

/** Decisions per second that one master has for a subject of a policy. */
function perMaster({ limits }: Policy): number {
  const planned = [limits].flat().map(({ algorithm }) => ({ algorithm: algorithm.name, entries: 1 }));
  return subjectPerSecond(planned, LOAD);
}

function isSplit({ split }: Policy, subject: string): boolean {
  return split !== undefined && (split.subjects === undefined || split.subjects.includes(subject));
}

function mayLease(policy: Policy): boolean {
  const { overrides, revision, blocks } = policy;
  const isAsked = overrides === true || revision !== undefined || typeof blocks === 'object';
  return !isAsked && all(policy).every(({ algorithm, limit }) => algorithm.holds !== true && limit >= LEAST_LEASED);
}

/** As many parts as are needed, or as the smallest limit can have. */
function splitOf(policy: Policy, needed: number, parts: number): readonly string[] {
  const { overrides, revision, blocks } = policy;
  if (overrides === true || revision !== undefined || blocks !== undefined) return [];
  if (all(policy).some(({ algorithm, settings }) => algorithm.holds === true || settings.prorate === true)) return [];
  const most = Math.min(needed, ...all(policy).map(({ limit }) => Math.floor(limit / PART_LEAST)));
  return most > parts ? [`split: { parts: ${most} }`] : [];
}

const all = ({ limits, plans = {} }: Policy) => [limits, ...Object.values(plans)].flat();
