import type { Status } from './answer.js';

/** Global settings of envoyproxy/ratelimit, all off by default. */
export interface OverallOptions {
  /** Nobody is refused; statuses say what would be. */
  readonly isShadow?: boolean;
  /** All rules count as in quota mode. */
  readonly isQuota?: boolean;
}

/** Whether a request is refused: by any rule, or, where all its rules are of quota mode, by all of them. */
export function isRefused(statuses: readonly Status[], { isShadow = false, isQuota = false }: OverallOptions): boolean {
  if (isShadow) return false;
  let [limited, over, ofQuota] = [0, 0, 0];
  for (const status of statuses) {
    if (status.limit === undefined) continue;
    limited++;
    if (status.isOver) over++;
    if (isQuota || status.isQuota) ofQuota++;
  }
  return ofQuota === limited ? limited > 0 && over === limited : over > 0;
}

/** `RateLimit-*` fields of the limit with least left; a refused one comes first. */
export function headersOf(statuses: readonly Status[]): readonly (readonly [string, string])[] {
  const limited = statuses.filter(({ limit }) => limit !== undefined);
  const over = limited.filter(({ isOver }) => isOver);
  const [least] = [...(over.length > 0 ? over : limited)].sort((a, b) => a.remaining - b.remaining);
  if (least?.limit === undefined) return [];
  return [
    ['RateLimit-Limit', String(least.limit.requestsPerUnit)],
    ['RateLimit-Remaining', String(least.remaining)],
    ['RateLimit-Reset', String(least.resetSeconds ?? 0)],
  ];
}
