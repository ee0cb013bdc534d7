import type { Limit } from '../algorithms/algorithm.js';
import { limitKinds, withIds } from '../algorithms/limits.js';
import { ComportaError, show } from '../core/errors.js';
import type { Plan } from '../stores/store.js';
import { LIMITS_MAX, limitsOf } from './plan.js';

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

/** A limit as a configuration file writes it. */
type Written = Readonly<Record<string, unknown>>;

/** Text of a whole policy at a revision; the same in every process that has the same settings. */
export function revisionText(revision: number, { limits, plans }: Table): string {
  const written = Object.fromEntries(
    [...plans].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, of]) => [name, write(of)]),
  );
  return `r${revision}${JSON.stringify({ limits: write(limits), ...(plans.size > 0 ? { plans: written } : {}) })}`;
}

/** Throws `ERR_OPTION` or `ERR_LIMIT` for an override that cannot be meant. */
export function overrideText(override: Override): string {
  const { plan, limits } = (override ?? {}) as { readonly plan?: unknown; readonly limits?: readonly Limit[] };
  if ((limits === undefined) !== (typeof plan === 'string')) {
    const message = `override: expected { plan } or { limits }, got ${show(override)}`;
    throw new ComportaError('ERR_OPTION', message, 'override');
  }
  return `o${JSON.stringify(limits === undefined ? { plan } : { limits: write(limitsOf(limits, 'override.limits')) })}`;
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
      const plans = Object.entries(value.plans ?? {}).map(([name, limits]) => [name, read(limits)] as const);
      return {
        kind: 'revision',
        revision: Number(revision),
        table: { limits: read(value.limits), plans: new Map(plans) },
      };
    }
    if (typeof value.plan === 'string') return { kind: 'override', plan: value.plan, limits: undefined };
    return { kind: 'override', plan: undefined, limits: read(value.limits) };
  } catch {
    return { kind: 'unknown', revision: kind === undefined ? Number(revision) : Number.POSITIVE_INFINITY };
  }
}

function write(limits: Plan['limits']): readonly Written[] {
  return limits.map(({ id, algorithm, settings }) => ({ id, [algorithm.name]: settings }));
}

function read(limits: unknown): Plan['limits'] {
  const written = limits as readonly Written[];
  if (written.length === 0 || written.length > LIMITS_MAX) throw new Error(`${written.length} limits`);
  return withIds(
    written.map(({ id, ...kinds }) => {
      const [[name, settings] = []] = Object.entries(kinds);
      const kind = limitKinds[name as string];
      if (kind === undefined) throw new Error(`unknown limit ${name}`);
      return kind.build(settings as Written, id as string);
    }),
  );
}
