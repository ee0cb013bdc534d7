import { fixedWindow } from '../algorithms/limits.js';
import type { FailureMode } from '../core/decision.js';
import { ComportaError, show } from '../core/errors.js';
import type { LimiterEvents } from '../core/events.js';
import { digestHex } from '../core/hash.js';
import { checkOptionNames } from '../core/option-names.js';
import { type Clock, systemClock } from '../core/time.js';
import { wire } from '../limiter/create.js';
import { memoryStore } from '../stores/memory.js';
import type { Store } from '../stores/store.js';

/** How hits are counted where the limit is known before the hit. */
export type DropInAlgorithm = 'slidingWindow' | 'tokenBucket' | 'slidingWindowCounter' | 'fixedWindow';

/** What every drop-in store takes; the limits themselves stay with the project that it serves. */
export interface DropInOptions {
  /** Where hits are counted: `redisStore(...)`, or a memory store of its own when left out. */
  readonly store?: Store;
  /**
   * First part of the policy's name, 1 to 64 of `A-Z a-z 0-9 _ . -`; required with `store`. Equal names on one
   * store share their counts, in all processes; different ones never do.
   */
  readonly name?: string;
  /** `slidingWindow` by default: exact. */
  readonly algorithm?: DropInAlgorithm;
  /** Hard limit on every call, in ms: 1 to 60 000, 50 by default. */
  readonly timeoutMs?: number;
  /**
   * When the store cannot answer in time: `local` (default) counts here on this process's part of the limit,
   * `open` reports this one hit only, `closed` rejects with an {@link UnavailableError}.
   */
  readonly onStoreFailure?: FailureMode;
  /** As in `createLimiter`. */
  readonly instances?: number | 'auto';
  /** As in `createLimiter`. */
  readonly payBack?: boolean;
  /** Hears everything that the limiters tell. Outages are then not written to the console. */
  readonly onEvent?: <K extends keyof LimiterEvents>(name: K, event: LimiterEvents[K]) => void;
  /** Times the calls and the reset times; the system's by default. */
  readonly clock?: Clock;
}

/** Options that were checked, with what was left out. */
export interface Settings {
  readonly store: Store;
  /** The store is this one's alone: nobody else counts in it. */
  readonly isOwn: boolean;
  readonly name: string;
  readonly algorithm: DropInAlgorithm;
  readonly clock: Clock;
  readonly onEvent: DropInOptions['onEvent'];
  readonly calls: Pick<DropInOptions, 'timeoutMs' | 'onStoreFailure' | 'instances' | 'payBack'>;
}

const ALGORITHMS: readonly unknown[] = ['slidingWindow', 'tokenBucket', 'slidingWindowCounter', 'fixedWindow'];
const CALLS = ['timeoutMs', 'onStoreFailure', 'instances', 'payBack'] as const;
const OPTIONS: readonly string[] = ['store', 'name', 'algorithm', ...CALLS, 'onEvent', 'clock'];

/** Throws a `ComportaError` that names the option which cannot be meant. */
export function checkOptions(options: DropInOptions, defaultName: string): Settings {
  if (typeof options !== 'object' || options === null) {
    throw refusal('options', `expected { store, name, ... }, got ${show(options)}`);
  }
  checkOptionNames(options, OPTIONS);
  const { store, name = defaultName, algorithm = 'slidingWindow', clock = systemClock, onEvent } = options;
  if (store !== undefined && options.name === undefined) {
    throw refusal('name', 'required with a store: equal names share their counts, in all processes');
  }
  if (!ALGORITHMS.includes(algorithm)) {
    throw refusal('algorithm', `expected ${ALGORITHMS.join(', ')}, got ${show(algorithm)}`);
  }
  if (onEvent !== undefined && typeof onEvent !== 'function') {
    throw refusal('onEvent', `expected a function, got ${show(onEvent)}`);
  }
  const calls = Object.fromEntries(CALLS.flatMap((key) => (options[key] === undefined ? [] : [[key, options[key]]])));
  const probe = store === undefined || isStore(store) ? memoryStore({ clock, onWarning: () => undefined }) : store;
  // Said here: a limiter is made with the first limit that is asked for, perhaps only by a request.
  void wire({ ...calls, policy: name, limits: fixedWindow({ limit: 1, window: 1 }), store: probe }, clock).close();
  const own = store ?? memoryStore({ clock });
  return { store: own, isOwn: store === undefined, name, algorithm, clock, onEvent, calls };
}

const isStore = (store: Store): boolean => typeof store?.bind === 'function';

const NAME_MAX = 64;
const DIGITS = 16;

/** Name of a policy that belongs to a named part of a store: readable where it can be, never that of another part. */
export function policyName(name: string, part: string): string {
  const joined = `${name}.${part}`;
  if (/^[A-Za-z0-9_-]+$/.test(part) && joined.length <= NAME_MAX) return joined;
  const digest = digestHex(`${name}\n${part}`).slice(0, DIGITS);
  return `${name.slice(0, NAME_MAX - DIGITS - 2)}..${digest}`;
}

export function refusal(field: string, message: string): ComportaError {
  return new ComportaError('ERR_OPTION', `${field}: ${message}`, field);
}
