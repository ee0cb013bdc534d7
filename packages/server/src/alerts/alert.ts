import type { Degraded, FailureMode } from 'comporta';

export type AlertKind = 'store.unavailable' | 'store.misconfigured' | 'breaker.open';
export type Severity = 'critical' | 'error' | 'warning';

/** Something that is wrong now, as a rule sees it. */
export interface Fact {
  readonly kind: AlertKind;
  /** Name of the policy, or of the node for `breaker.open`. */
  readonly target: string;
  readonly severity: Severity;
  /** What the policy does meanwhile; `undefined` for a node. */
  readonly mode: FailureMode | undefined;
  readonly cause: Degraded['cause'] | undefined;
  /** The client's or server's own words, as they came. */
  readonly detail: string;
}

/** A message about a fact: it began, or it is over. */
export interface Alert {
  /** Kind and target: two alerts with one key are about the same thing. */
  readonly key: string;
  readonly fact: Fact;
  readonly status: 'firing' | 'resolved';
  readonly startsAtMs: number;
  /** Set when resolved. */
  readonly endsAtMs: number | undefined;
}

export function keyOf(kind: AlertKind, target: string): string {
  return `${kind}:${target}`;
}

export function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
