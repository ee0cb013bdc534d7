import type { Limit } from '../algorithms/algorithm.js';
import { readLimits, writeLimits } from '../algorithms/written.js';
import { ComportaError, show } from '../core/errors.js';
import type { Plan } from '../stores/store.js';
import { limitsOf } from './plan.js';

/** The limits that a policy gives: its own, and those of its plans by name. */
export interface Table {
  readonly limits: Plan['limits'];
  readonly plans: ReadonlyMap<string, Plan['limits']>;
}

/** Limits of one subject: those of a plan, or its own. */
export type Override = { readonly plan: string } | { readonly limits: readonly Limit[] };

/** What a stored text says. */
export type Reading =
  | { readonly kind: 'none' }
  /** As {@link readTerms} could not read it: what gives way to any process with a greater revision. */
  | { readonly kind: 'unknown'; readonly revision: number }
  | { readonly kind: 'revision'; readonly revision: number; readonly table: Table }
  | { readonly kind: 'override'; readonly plan: string | undefined; readonly limits: Plan['limits'] | undefined };

/** Text of a whole policy at a revision; the same in every process that has the same settings. */
export function revisionText(revision: number, { limits, plans }: Table): string {
  const written = Object.fromEntries(
    [...plans].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, of]) => [name, writeLimits(of)]),
  );
  const own = writeLimits(limits);
  return `r${revision}${JSON.stringify({ limits: own, ...(plans.size > 0 ? { plans: written } : {}) })}`;
}

/** Throws `ERR_OPTION` or `ERR_LIMIT` for an override that cannot be meant. */
export function overrideText(override: Override): string {
  const { plan, limits } = (override ?? {}) as { readonly plan?: unknown; readonly limits?: readonly Limit[] };
  if ((limits === undefined) !== (typeof plan === 'string')) {
    const message = `override: expected { plan } or { limits }, got ${show(override)}`;
    throw new ComportaError('ERR_OPTION', message, 'override');
  }
  if (limits === undefined) return `o${JSON.stringify({ plan })}`;
  return `o${JSON.stringify({ limits: writeLimits(limitsOf(limits, 'override.limits')) })}`;
}

const FORM = /^(?:(o)|r(\d+))(\{.*)$/s;

/**
 * Never throws: what a newer version may have written is `unknown`. Such an override stands until it ends, such a
 * revision until a greater one decides; what nobody can have written gives way at once.
 */
export function readTerms(text: string): Reading {
  if (text === '') return { kind: 'none' };
  const [, kind, revision = -1, json] = FORM.exec(text) ?? [];
  try {
    const value = JSON.parse(json as string) as {
      readonly plan?: unknown;
      readonly limits?: unknown;
      readonly plans?: object;
    };
    if (kind === undefined) {
      const plans = Object.entries(value.plans ?? {}).map(([name, limits]) => [name, readLimits(limits)] as const);
      return {
        kind: 'revision',
        revision: Number(revision),
        table: { limits: readLimits(value.limits), plans: new Map(plans) },
      };
    }
    if (typeof value.plan === 'string') return { kind: 'override', plan: value.plan, limits: undefined };
    return { kind: 'override', plan: undefined, limits: readLimits(value.limits) };
  } catch {
    return { kind: 'unknown', revision: kind === undefined ? Number(revision) : Number.POSITIVE_INFINITY };
  }
}
