import type { FailureMode } from '../core/decision.js';
import { ComportaError, show } from '../core/errors.js';
import { Emitter, type LimiterEvents } from '../core/events.js';
import { isolatesRequests } from '../core/globals.js';
import { checkOptionNames } from '../core/option-names.js';
import { type Clock, steadyMs, systemClock } from '../core/time.js';
import { Asker } from '../resilience/asker.js';
import { Guard } from '../resilience/guard.js';
import { healthOf } from '../resilience/health.js';
import { LocalShare } from '../resilience/local-share.js';
import { Reports } from '../resilience/reports.js';
import { memoryStore, standInStore } from '../stores/memory.js';
import { ALONE } from '../stores/presence.js';
import type { Charge, Plan, PolicyStore, Store } from '../stores/store.js';
import { GuardedLimiter } from './guarded.js';
import { checkHold, holdOf, LimitsHold } from './hold.js';
import { LeaseBook } from './lease-book.js';
import { boundsOfAll, checkLease, type LeaseRule, limitsUnder } from './lease-rule.js';
import type { Limiter, LimiterOptions } from './limiter.js';
import { LimitsLeases } from './limits-leases.js';
import { allLimits, planOf, plansOf } from './plan.js';
import { Split, type SplitPlace, shared } from './split.js';
import { checkSplit } from './split-rule.js';
import { Told } from './told.js';
import { Variants } from './variants.js';
import { checkMaxWaiters } from './wait.js';

const MODES: readonly FailureMode[] = ['local', 'open', 'closed'];
const OPTIONS: readonly string[] = [
  'policy',
  'limits',
  'store',
  'timeoutMs',
  'onStoreFailure',
  'instances',
  'payBack',
  'maxWaiters',
  'hold',
  'lease',
  'split',
  'plans',
  'planOf',
  'overrides',
  'revision',
  'blocks',
];
const TIMEOUT_MAX_MS = 60_000;
const INSTANCES_MAX = 100_000;

interface Checked {
  readonly timeoutMs: number;
  readonly mode: FailureMode;
  readonly instances: number | 'auto';
  readonly payBack: boolean;
}

/** Makes a limiter; throws a `ComportaError` that names the setting when one is wrong. Needs no running store. */
export function createLimiter(options: LimiterOptions): Limiter {
  return wire(options, systemClock);
}

/** As {@link createLimiter}, with the clock that times the calls: for tests and simulation. */
export function wire(options: LimiterOptions, clock: Clock): Limiter {
  const { timeoutMs, mode, instances, payBack } = checkOptions(options);
  const maxWaiters = checkMaxWaiters(options.maxWaiters);
  const holdMs = checkHold(options.hold);
  const plan = planOf(options);
  const plans = plansOf(options, plan.limits);
  const all = allLimits(plan.limits, plans);
  const lease = checkLease(options, all);
  const parts = checkSplit(options, all);
  const events = new Emitter<LimiterEvents>();
  const store = options.store ?? memoryStore({ clock });
  if (store.kind === 'memory' && instances !== 'auto') warnOfMemory(store, plan.policy);
  const local = store.kind === 'memory' ? store : standInStore(clock, (text) => store.warn?.(text));
  const health = healthOf(store, clock);
  const reports = new Reports(health, { policy: plan.policy, mode, clock, events });
  const common = { timeoutMs, mode, payBack, clock, reports };
  const bound = store.bind(plan);
  const split = parts && bound.isLocal !== true ? new Split(parts) : undefined;
  const hold = holdMs !== undefined && isHeld(bound, plan) ? { longestMs: holdMs, nowUs: steadyUs(clock) } : undefined;
  const partOf =
    instances === 'auto' ? () => bound.part?.() ?? ALONE : () => ({ processes: instances, rank: instances });
  const processes = () => (instances === 'auto' ? bound.peers?.() : instances);
  const leasing = { policy: plan.policy, owner: store.owner, clock, nowUs: steadyUs(clock), events, processes };
  const book = lease && isFar(bound) ? new LeaseBook({ ...leasing, rule: lease }) : undefined;
  const guardOf = (decided: Plan['limits']): Guard => {
    const place = split?.placeOf(decided);
    const of = countedBy(plan, decided, place, book?.rule);
    const { limits } = of;
    const share = new LocalShare(of, local, { clock, partOf, remembers: mode === 'local' && local !== store });
    const reached = limits === plan.limits ? bound : store.bind(of);
    const onAnswered = (): void => variants.startPayBack();
    const refusals = hold && new LimitsHold(holdOf(store, nameOf(of)), limits, hold);
    const asker = new Asker(reached, health, clock, timeoutMs);
    const unwaited = { asker, refund: (charge: Charge) => guard.refund(charge, undefined) };
    const leases = book && new LimitsLeases(book, reached, { limits, place, isSplit: split !== undefined }, unwaited);
    const guard: Guard = new Guard(of, reached, share, health, { ...common, refusals, leases, onAnswered });
    return guard;
  };
  const variants = new Variants({
    table: { limits: plan.limits, plans },
    revision: options.revision,
    haveTerms: plan.haveTerms === true,
    planOf: options.planOf,
    split,
    guardOf,
    onUnknown: (text) => reports.misunderstood(text),
  });
  const unlisten = health.events.on('breaker', (event) => events.emit('breaker', event));
  const waiting = { clock, maxWaiters, isShared: () => partOf().processes > 1 };
  const release = async (): Promise<void> => {
    await book?.close();
    unlisten();
    variants.close();
    if (local !== store) await local.close();
    if (options.store === undefined) await store.close();
  };
  const told = new Told(events, clock, store.kind);
  const leaseBounds = boundsOfAll([plan.limits, ...plans.values()], lease);
  return new GuardedLimiter({ plan, variants, split, events, told, waiting, clock, timeoutMs, leaseBounds, release });
}

/** What a guard's store counts by: of one part, what it has of the whole. */
function countedBy(plan: Plan, decided: Plan['limits'], place?: SplitPlace, rule?: LeaseRule): Plan {
  const limits = limitsUnder(rule, place?.whole ?? decided);
  if (place === undefined) return { ...plan, limits };
  return { ...plan, limits: shared(limits, place.part), split: place.part };
}

/** The parts of a subject are held each by itself; no policy has such a name. */
const nameOf = ({ policy, split }: Plan): string => (split === undefined ? policy : `${policy}/${split.rank}`);

/** Refusals are counted where they are automatic blocks, and memory is asked as fast as it is remembered. */
const isHeld = ({ shardOf }: PolicyStore, { blocks }: Plan): boolean =>
  blocks?.refusals === undefined && shardOf !== undefined;

/** Memory answers as fast as a lease; and where requests are isolated none may wait for what another began. */
const isFar = ({ isLocal, act }: PolicyStore): boolean => isLocal !== true && act !== undefined && !isolatesRequests();

/** The process's own wall clock may be set while it runs. */
function steadyUs(clock: Clock): () => number {
  return clock === systemClock ? () => Math.floor(steadyMs() * 1000) : () => clock.nowUs();
}

function checkOptions(options: LimiterOptions): Checked {
  if (typeof options !== 'object' || options === null) {
    throw new ComportaError('ERR_OPTION', `options: expected { policy, limits, ... }, got ${show(options)}`, 'options');
  }
  checkOptionNames(options, OPTIONS);
  const { timeoutMs = 50, onStoreFailure: mode = 'local', store, instances = 'auto', payBack = true } = options;
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > TIMEOUT_MAX_MS) {
    throw new ComportaError(
      'ERR_OPTION',
      `timeoutMs: expected whole milliseconds from 1 to ${TIMEOUT_MAX_MS}, got ${show(timeoutMs)}`,
      'timeoutMs',
    );
  }
  if (!MODES.includes(mode)) {
    throw new ComportaError(
      'ERR_OPTION',
      `onStoreFailure: expected ${MODES.join(', ')}, got ${show(mode)}`,
      'onStoreFailure',
    );
  }
  if (store !== undefined && typeof store?.bind !== 'function') {
    const fix = typeof store === 'string' ? '; for a URL write redisStore(url)' : '';
    throw new ComportaError(
      'ERR_OPTION',
      `store: expected memoryStore(), redisStore() or the like, got ${show(store)}${fix}`,
      'store',
    );
  }
  const isCount =
    Number.isSafeInteger(instances) && (instances as number) >= 1 && (instances as number) <= INSTANCES_MAX;
  if (instances !== 'auto' && !isCount) {
    throw new ComportaError(
      'ERR_OPTION',
      `instances: expected "auto" or a whole number from 1 to ${INSTANCES_MAX}, got ${show(instances)}`,
      'instances',
    );
  }
  if (typeof payBack !== 'boolean') {
    throw new ComportaError('ERR_OPTION', `payBack: expected true or false, got ${show(payBack)}`, 'payBack');
  }
  checkUse(options, mode);
  return { timeoutMs, mode, instances, payBack };
}

/** Whoever sets how mode `local` counts, and has another mode, believes in a limit that nobody keeps. */
function checkUse(options: LimiterOptions, mode: FailureMode): void {
  if (mode === 'local') return;
  for (const name of ['instances', 'payBack'] as const) {
    // Leases are shared by as many processes.
    if (name === 'instances' && options.lease !== undefined) continue;
    const given = options[name];
    if (given === undefined || given === 'auto' || given === false) continue;
    const message = `${name}: ${given} changes nothing with onStoreFailure ${mode}; remove it, or choose local`;
    throw new ComportaError('ERR_OPTION', message, name);
  }
}

const warned: WeakSet<Store> = new WeakSet();

/** Not refused: the same options serve in production with Redis and in development without. */
function warnOfMemory(store: Store, policy: string): void {
  if (warned.has(store)) return;
  warned.add(store);
  store.warn?.(`policy ${policy}: instances has no effect on a memory store, so every process admits the whole limit`);
}
