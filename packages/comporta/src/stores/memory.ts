import { ComportaError, show } from '../core/errors.js';
import { checkOptionNames } from '../core/option-names.js';
import { type Clock, systemClock } from '../core/time.js';
import { MemoryPolicy } from './memory-policy.js';
import { MemoryPresence } from './memory-presence.js';
import { MemoryTable } from './memory-table.js';
import { MemoryTables } from './memory-tables.js';
import type { Store } from './store.js';

export interface MemoryStoreOptions {
  /**
   * Most subjects kept per limit: 1 to 10 000 000, 100 000 by default. A sliding window keeps ten times as
   * many entries, one for each admitted request. Beyond that the least used subjects start afresh.
   */
  readonly maxSubjects?: number;
  /** Told of counts that were dropped for want of room, and of settings without effect; `console.warn` by default. */
  readonly onWarning?: (message: string) => void;
  readonly clock?: Clock;
}

/** Keeps state in this process: exact for one process, gone when it ends. Answers at once, never fails. */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkOptionNames(options, ['maxSubjects', 'onWarning', 'clock']);
  const {
    maxSubjects = 100_000,
    clock = systemClock,
    onWarning = (text) => console.warn(`comporta: ${text}`),
  } = options;
  if (!Number.isSafeInteger(maxSubjects) || maxSubjects < 1 || maxSubjects > 10_000_000) {
    throw new ComportaError(
      'ERR_OPTION',
      `maxSubjects: expected a whole number from 1 to 10000000, got ${show(maxSubjects)}`,
      'maxSubjects',
    );
  }
  return opened(maxSubjects, clock, onWarning, 'the memory store is full', RAISE);
}

const RAISE = 'give memoryStore() more maxSubjects, or use a Redis store';
const STAND_IN_SUBJECTS_MAX = 100_000;

/** Counts in the place of a store that does not answer. Its size is not the user's to set. */
export function standInStore(clock: Clock, onWarning: (message: string) => void): Store {
  const what = 'the local stand-in for the store is full';
  return opened(STAND_IN_SUBJECTS_MAX, clock, onWarning, what, 'those start afresh');
}

function opened(
  maxSubjects: number,
  clock: Clock,
  onWarning: (message: string) => void,
  what: string,
  advice: string,
): Store {
  const say = (lost: number) =>
    onWarning(`${what}: counts of ${lost} subjects were dropped while they still counted; ${advice}`);
  const onLoss = lossReporter(clock, say);
  const tables = new MemoryTables(() => new MemoryTable(maxSubjects, onLoss));
  const presence = new MemoryPresence(clock);
  return {
    kind: 'memory',
    bind: (plan) =>
      new MemoryPolicy(plan, (name) => tables.of(plan.split ? `${plan.split.rank}/${name}` : name), clock),
    ping: () => Promise.resolve(),
    ready: () => Promise.resolve(),
    beat: (who, policies) => presence.beat(who, policies),
    warn: onWarning,
    close: async () => tables.clear(),
  };
}

const REPORT_EVERY_MS = 60_000;

function lossReporter(clock: Clock, say: (lost: number) => void): () => void {
  let lost = 0;
  let saidAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    lost++;
    const nowMs = clock.nowUs() / 1000;
    if (nowMs - saidAtMs < REPORT_EVERY_MS) return;
    saidAtMs = nowMs;
    say(lost);
    lost = 0;
  };
}
