import type { Limit } from '../algorithms/algorithm.js';
import { limitKinds, withIds } from '../algorithms/limits.js';
import type { Plan } from '../stores/store.js';

/** The limits that a policy gives: its own, and those of its plans by name. */
export interface Table {
  readonly limits: Plan['limits'];
  readonly plans: ReadonlyMap<string, Plan['limits']>;
}

/** Limits of one subject: those of a plan, or its own. */
export type Override = { readonly plan: string } | { readonly limits: readonly Limit[] };

/** What a stored text says. */
export type Reading =
  | { readonly kind: 'none' | 'unknown' }
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

export function overrideText(override: Override): string {
  return `o${JSON.stringify('plan' in override ? override : { limits: write(withIds(override.limits)) })}`;
}

/** Never throws: what a newer version may have written is `unknown`. */
export function readTerms(text: string): Reading {
  if (text === '') return { kind: 'none' };
  try {
    const [, kind, revision, json] = /^(?:(o)|r(\d+))(\{.*)$/s.exec(text) ?? [];
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
    return { kind: 'unknown' };
  }
}

function write(limits: Plan['limits']): readonly Written[] {
  return limits.map(({ id, algorithm, settings }) => ({ id, [algorithm.name]: settings }));
}

function read(limits: unknown): Plan['limits'] {
  const written = limits as readonly Written[];
  if (written.length === 0) throw new Error('no limits');
  return withIds(
    written.map(({ id, ...kinds }) => {
      const [[name, settings] = []] = Object.entries(kinds);
      const kind = limitKinds[name as string];
      if (kind === undefined) throw new Error(`unknown limit ${name}`);
      return kind.build(settings as Written, id as string);
    }),
  );
}
