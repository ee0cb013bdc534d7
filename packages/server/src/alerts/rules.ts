import type { BreakerEvent, Degraded } from 'comporta';
import { type AlertKind, type Fact, keyOf, type Severity } from './alert.js';

/** When a fact becomes an alert, and when an alert is over. */
export interface Rule {
  /** The fact must hold this long; gaps shorter than this do not count as its end. */
  readonly graceMs: number;
  /** An alert is resolved when the fact has been gone this long. */
  readonly calmMs: number;
  /** The fact is taken to be over when nothing has been heard of it for this long. */
  readonly staleMs: number;
}

const CALM_MS = 5000;

/** The fixed set of rules, described in docs/alerts.md. */
export const RULES: Readonly<Record<AlertKind, Rule>> = {
  'store.unavailable': { graceMs: 2000, calmMs: CALM_MS, staleMs: Number.POSITIVE_INFINITY },
  'store.misconfigured': { graceMs: 0, calmMs: CALM_MS, staleMs: Number.POSITIVE_INFINITY },
  // A node that is asked tells of its breaker every second; a node that has left the cluster is asked no more.
  'breaker.open': { graceMs: 5000, calmMs: CALM_MS, staleMs: 60_000 },
};

/** What an event of the library says: facts that hold, and keys of those that do not. */
export interface Findings {
  readonly raise: Fact | undefined;
  readonly clear: readonly string[];
}

/** A store that answers with a complaint is there: the two rules about stores exclude each other. */
export function onStoreFailure(policy: string, { mode, cause, detail }: Degraded): Findings {
  const isMisconfigured = cause === 'misconfigured';
  const kind: AlertKind = isMisconfigured ? 'store.misconfigured' : 'store.unavailable';
  const severity: Severity = isMisconfigured || mode === 'closed' ? 'critical' : 'error';
  return {
    raise: { kind, target: policy, severity, mode, cause, detail },
    clear: isMisconfigured ? [keyOf('store.unavailable', policy)] : [],
  };
}

export function onStoreAnswer(policy: string): Findings {
  return { raise: undefined, clear: [keyOf('store.unavailable', policy), keyOf('store.misconfigured', policy)] };
}

/** A node may have several breakers, one per time limit. One that is open is heard of again within a second. */
export function onBreaker({ node, state }: BreakerEvent): Findings {
  if (state === 'closed') return { raise: undefined, clear: [keyOf('breaker.open', node)] };
  if (state === 'halfOpen') return { raise: undefined, clear: [] };
  const fact = { kind: 'breaker.open', severity: 'warning', mode: undefined, cause: undefined, detail: '' } as const;
  return { raise: { ...fact, target: node }, clear: [] };
}
