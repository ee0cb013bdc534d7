import { percentile } from '../../cluster/percentile.js';
import { type Call, LIMIT } from './call.js';
import type { Fault } from './faults.js';

/** Moments of a cell, on the clock of all processes of this machine. */
export interface Marks {
  readonly beginUs: number;
  /** The fault is over, or another server has taken over. */
  readonly endUs: number;
}

export interface Figures {
  readonly calls: number;
  /** Times of decisions while the fault lasts, without standstills of the process. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** 99th percentile of the decisions given while the breaker is open. */
  readonly openMs: number | undefined;
  /** Share of the degraded calls since it first opened that went to the server nevertheless, to find out. */
  readonly askedShare: number;
  /** From the end of the fault to the first decision of the store in every mode. */
  readonly recoveryMs: number;
  /** Degraded after the store was back, of so many calls. */
  readonly relapsed: number;
  readonly after: number;
  readonly wrong: readonly string[];
  /** Degraded, said in words, under a fault with which the store goes on deciding. */
  readonly degraded: readonly string[];
  readonly healthy: HealthyFigures | undefined;
}

interface HealthyFigures {
  readonly degraded: number;
  readonly p99Ms: number;
  /** Before the fault. */
  readonly normalMs: number;
}

/** What is on its way when a fault begins or ends, in a proxy too, belongs to neither side. */
const EDGE_US = 60_000;

/** Degraded although the process could run: nothing but the store accounts for it. */
const isUnexplained = ({ cause, stalledMs }: Call): boolean =>
  cause !== undefined && (cause !== 'timeout' || stalledMs < 15);

const isRefused = ({ cause }: Call): boolean => cause === 'breaker-open';

const runningMs = (calls: readonly Call[]): number[] =>
  calls.map(({ tookMs, stalledMs }) => Math.max(0, tookMs - stalledMs));

export function figuresOf(calls: readonly Call[], fault: Fault, { beginUs, endUs }: Marks): Figures {
  const isOneShard = fault.effect !== 'none';
  const concerned = isOneShard ? calls.filter(({ isHealthy }) => !isHealthy) : calls;
  const during = concerned.filter(({ sentUs }) => sentUs >= beginUs && sentUs < endUs);
  const times = runningMs(during);
  const backUs = backAtUs(concerned, endUs);
  const after = concerned.filter(({ sentUs }) => sentUs > backUs);
  return {
    calls: calls.length,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    p999Ms: percentile(times, 0.999),
    maxMs: percentile(times, 1),
    ...openFigures(during),
    recoveryMs: Math.max(0, backUs - endUs) / 1000,
    relapsed: after.filter(isUnexplained).length,
    after: after.length,
    wrong: [
      ...wrongDecisions(calls, fault),
      ...(fault.effect === 'outage' ? unmarked(during, { beginUs, endUs }) : []),
    ],
    degraded: isOneShard ? [] : during.filter(isUnexplained).map(textOf),
    healthy: isOneShard ? healthyFigures(calls, { beginUs, endUs }) : undefined,
  };
}

/** What calls cost once the breaker has opened, and how many of them it lets through. */
function openFigures(concerned: readonly Call[]): Pick<Figures, 'openMs' | 'askedShare'> {
  // A client may learn of a promoted replica before this process does: decisions of the store are no attempts.
  const degraded = concerned.filter(({ cause }) => cause !== undefined);
  const since = degraded.slice(degraded.findIndex(isRefused));
  const refused = since.filter(isRefused);
  if (refused.length === 0) return { openMs: undefined, askedShare: 0 };
  return { openMs: percentile(runningMs(refused), 0.99), askedShare: 1 - refused.length / since.length };
}

function backAtUs(concerned: readonly Call[], endUs: number): number {
  const back = new Map<string, number>();
  for (const { mode, cause, sentUs, tookMs } of concerned) {
    const doneUs = sentUs + tookMs * 1000;
    if (cause === undefined && doneUs > endUs) back.set(mode, Math.min(back.get(mode) ?? doneUs, doneUs));
  }
  return back.size < 3 ? Number.POSITIVE_INFINITY : Math.max(...back.values());
}

function healthyFigures(calls: readonly Call[], { beginUs, endUs }: Marks): HealthyFigures | undefined {
  const healthy = calls.filter(({ isHealthy }) => isHealthy);
  if (healthy.length === 0) return undefined;
  const before = healthy.filter(({ sentUs }) => sentUs < beginUs);
  const since = healthy.filter(({ sentUs }) => sentUs >= beginUs && sentUs < endUs);
  return {
    degraded: healthy.filter(isUnexplained).length,
    p99Ms: percentile(runningMs(since), 0.99),
    normalMs: percentile(runningMs(before), 0.99),
  };
}

/** Decisions that no failure excuses: the mode not kept, a limit exceeded, a denial without its reason. */
function wrongDecisions(calls: readonly Call[], { effect }: Fault): string[] {
  const wrong = calls.flatMap((call) => {
    const why = whatIsWrong(call);
    return why === undefined ? [] : [`${call.mode} ${call.subject}: ${why}`];
  });
  for (const mode of ['local', 'closed']) {
    const hot = calls.filter((call) => call.isHot && call.mode === mode && call.allowed);
    // What was used before an outage is not carried over: one limit by the store, one in its place.
    const byStore = hot.filter(({ cause }) => cause === undefined).length;
    // Who takes over has not heard of the last requests before: at worst of none.
    const most = effect === 'failover' ? 2 * LIMIT : LIMIT;
    if (byStore > most) wrong.push(`${mode}: the store admitted ${byStore} of ${LIMIT}`);
    if (hot.length - byStore > LIMIT) wrong.push(`${mode}: ${hot.length - byStore} of ${LIMIT} admitted in its place`);
  }
  return wrong;
}

function whatIsWrong({ mode, cause, degradedMode, allowed, reason, isHot, detail }: Call): string | undefined {
  if (allowed !== (reason === undefined)) return `allowed ${allowed} with reason ${reason}`;
  const isLimited = !allowed && reason === 'limit-exceeded';
  if (isLimited && !isHot) return 'a new subject was denied as limited';
  if (cause === undefined) return allowed || isLimited ? undefined : `the store denied with ${reason}`;
  if (degradedMode !== mode) return `degraded by mode ${degradedMode}`;
  if (cause === 'aborted' || cause === 'overloaded' || detail === '') return `cause ${cause}, detail "${detail}"`;
  if (mode === 'open' && !allowed) return 'denied';
  if (mode === 'closed' && (allowed || reason !== 'store-unavailable')) return `allowed ${allowed}, reason ${reason}`;
  if (mode === 'local' && !allowed && !isLimited) return `denied with ${reason}`;
  return undefined;
}

/** Decisions said to be the store's while it could not decide. */
const unmarked = (during: readonly Call[], { beginUs, endUs }: Marks): string[] =>
  during
    .filter(({ cause, sentUs }) => cause === undefined && sentUs > beginUs + EDGE_US && sentUs < endUs - EDGE_US)
    .map(({ mode, subject }) => `${mode} ${subject}: not marked as degraded`);

const textOf = ({ mode, subject, cause, detail }: Call): string => `${mode} ${subject}: ${cause} (${detail})`;
