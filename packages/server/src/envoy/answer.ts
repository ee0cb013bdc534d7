import type { Degraded } from 'comporta';
import type { Match } from './match.js';
import type { NamedRate } from './rules.js';

/** The answer to one descriptor. */
export interface Status {
  readonly isOver: boolean;
  /** The limit that decided; `undefined` where none applies. */
  readonly limit: NamedRate | undefined;
  readonly remaining: number;
  /** Until the window ends, or the limit is as if unused: whole seconds, at least 1; `undefined` without a limit. */
  readonly resetSeconds: number | undefined;
  /** Until the request would pass, where it was refused and waiting helps. */
  readonly retrySeconds?: number | undefined;
  readonly degraded: Degraded | undefined;
  /** Only the store may decide, and it did not. */
  readonly isUnanswered?: boolean;
  /** Its rule refuses only together with all others of its kind. */
  readonly isQuota: boolean;
  /** For metrics; `undefined` where no rule applies. */
  readonly hits: Hits | undefined;
}

/** How the cost of a descriptor fell, for the metrics of its rule. */
export interface Hits {
  readonly statsKey: string;
  readonly total: number;
  readonly overLimit: number;
  readonly nearLimit: number;
  readonly withinLimit: number;
  readonly shadowMode: number;
}

/** Remaining of a rule that has no limit. */
const UNLIMITED_REMAINING: number = 2 ** 32 - 1;

/** Where no rule applies, or one that asks nobody. */
export function uncounted(match: Match | undefined, isReplaced: boolean): Status | undefined {
  const isUnlimited = match?.rule.isUnlimited === true && !isReplaced;
  if (match !== undefined && !isReplaced && !isUnlimited) return undefined;
  return {
    isOver: false,
    limit: undefined,
    remaining: isUnlimited ? UNLIMITED_REMAINING : 0,
    resetSeconds: undefined,
    degraded: undefined,
    isQuota: false,
    hits: undefined,
  };
}

/** A rule that refuses while the store is away: that is a failure, not a refusal. One in shadow mode refuses nobody. */
export const isUnanswered = ({ mode }: Degraded, { rule }: Match): boolean => mode === 'closed' && !rule.isShadow;

const NEAR = 0.8;

/** How a cost fell that took a count to `after`, of a limit. */
export function hitsOf({ statsKey, rule }: Match, cost: number, after: number, limit: number): Hits {
  const before = after - cost;
  const near = Math.floor(limit * NEAR);
  const isOver = after > limit;
  const overLimit = isOver ? after - Math.max(limit, before) : 0;
  const nearLimit = Math.max(0, Math.min(after, limit) - Math.max(near, before));
  const isShadowed = isOver && rule.isShadow;
  return {
    statsKey,
    total: cost,
    overLimit,
    nearLimit,
    withinLimit: isOver ? 0 : cost,
    shadowMode: isShadowed ? overLimit : 0,
  };
}
