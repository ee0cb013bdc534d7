import type { Limit } from '../algorithms/algorithm.js';
import { checkName, withIds } from '../algorithms/limits.js';
import type { FailureMode } from '../core/decision.js';
import { ComportaError, show } from '../core/errors.js';
import { Emitter, type LimiterEvents } from '../core/events.js';
import { type Clock, systemClock } from '../core/time.js';
import { Guard } from '../resilience/guard.js';
import { healthOf } from '../resilience/health.js';
import { LocalShare } from '../resilience/local-share.js';
import { memoryStore } from '../stores/memory.js';
import { ALONE } from '../stores/presence.js';
import type { Plan } from '../stores/store.js';
import { GuardedLimiter } from './guarded.js';
import type { Limiter, LimiterOptions } from './limiter.js';

const MODES: readonly FailureMode[] = ['local', 'open', 'closed'];
const OPTIONS: readonly string[] = ['policy', 'limits', 'store', 'timeoutMs', 'onStoreFailure', 'instances', 'payBack'];
const LIMITS_MAX = 8;
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
  const plan = planOf(options);
  const events = new Emitter<LimiterEvents>();
  const store = options.store ?? memoryStore({ clock });
  const local = store.kind === 'memory' ? store : memoryStore({ clock, onWarning: (text) => store.warn?.(text) });
  const health = healthOf(store, clock);
  const guardOptions = { policy: plan.policy, timeoutMs, mode, payBack, clock, events };
  const bound = store.bind(plan);
  const partOf =
    instances === 'auto' ? () => bound.part?.() ?? ALONE : () => ({ processes: instances, rank: instances });
  const guard = new Guard(plan, bound, new LocalShare(plan, local, partOf), health, guardOptions);
  const unlisten = health.events.on('breaker', (event) => events.emit('breaker', event));
  return new GuardedLimiter(plan, guard, events, async () => {
    unlisten();
    guard.close();
    if (local !== store) await local.close();
    if (options.store === undefined) await store.close();
  });
}

function planOf(options: LimiterOptions): Plan {
  checkName(options.policy, 'policy');
  const limits = Array.isArray(options.limits) ? (options.limits as readonly Limit[]) : [options.limits as Limit];
  const isLimit = (limit: Limit | undefined) => typeof limit?.algorithm?.evaluate === 'function';
  if (limits.length < 1 || limits.length > LIMITS_MAX || !limits.every(isLimit)) {
    throw new ComportaError(
      'ERR_LIMIT',
      `limits: expected 1 to ${LIMITS_MAX} limits made by tokenBucket(), slidingWindow() and the like, got ${show(options.limits)}`,
      'limits',
    );
  }
  return { policy: options.policy, limits: withIds(limits) };
}

function checkOptions(options: LimiterOptions): Checked {
  if (typeof options !== 'object' || options === null) {
    throw new ComportaError('ERR_OPTION', `options: expected { policy, limits, ... }, got ${show(options)}`, 'options');
  }
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) {
    throw new ComportaError('ERR_OPTION', `${unknown}: unknown option; there are ${OPTIONS.join(', ')}`, unknown);
  }
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
    throw new ComportaError('ERR_OPTION', `store: expected memoryStore() or redisStore(), got ${show(store)}`, 'store');
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
  return { timeoutMs, mode, instances, payBack };
}
