import { ComportaError, show } from '../core/errors.js';
import type { Limit } from './algorithm.js';
import { checkName, limitKinds, withIds } from './limits.js';

/** A limit as a configuration file writes it: its id, and its settings under the name of its kind. */
export type Written = Readonly<Record<string, unknown>>;

/** Most limits that a policy has. */
export const LIMITS_MAX = 8;

type Limits = readonly (Limit & { readonly id: string })[];

export function writeLimits(limits: Limits): readonly Written[] {
  return limits.map(({ id, algorithm, settings }) => ({ id, [algorithm.name]: settings }));
}

/** The limits that were written; throws a `ComportaError` that names what cannot be meant. */
export function readLimits(written: unknown, field = 'limits'): Limits {
  if (!Array.isArray(written) || written.length === 0 || written.length > LIMITS_MAX) {
    throw new ComportaError('ERR_LIMIT', `${field}: expected 1 to ${LIMITS_MAX} limits, got ${show(written)}`, field);
  }
  return withIds(
    written.map((limit: Written | null, i) => readLimit(limit ?? {}, `${field}[${i}]`)),
    field,
  );
}

function readLimit({ id, ...kinds }: Written, field: string): Limit {
  const [[name = '', settings] = [], ...others] = Object.entries(kinds);
  const kind = Object.hasOwn(limitKinds, name) ? limitKinds[name] : undefined;
  if (kind === undefined || others.length > 0) {
    throw new ComportaError(
      'ERR_LIMIT',
      `${field}: expected one kind of limit, got ${show(Object.keys(kinds).join())}`,
      field,
    );
  }
  if (id !== undefined) checkName(id, `${field}.id`);
  try {
    return kind.build(settings as Written, id);
  } catch (error) {
    if (error instanceof ComportaError) throw new ComportaError(error.code, error.message, `${field}.${error.field}`);
    throw error;
  }
}
