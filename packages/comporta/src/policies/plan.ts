import { ComportaError, show } from '../core/errors.js';
import { unawaited } from '../core/unawaited.js';
import type { Params } from '../identity/sources.js';
import { compileSource, type KeyContext, messageOf } from '../identity/subject.js';
import type { RequestView } from '../identity/view.js';
import type { PlanSource, Policy } from './policy.js';
import { refusal } from './refusal.js';

/** Name of a request's plan; `undefined` for the policy's own limits. */
export type PlanOf<Request = unknown> = (view: RequestView<Request>, params: Params) => string | undefined;

/** Compiles how a policy finds plans; throws `ERR_POLICY` or `ERR_KEY` naming the field. */
export function compilePlan<Request>(
  { plan, plans, overrides }: Pick<Policy<Request>, 'plan' | 'plans' | 'overrides'>,
  field: string,
  context: Pick<KeyContext, 'clientIp' | 'report'>,
): PlanOf<Request> | undefined {
  if (plan === undefined) {
    if (plans === undefined || overrides === true) return undefined;
    throw refusal(field, 'missing; without it or overrides nobody has one of the plans');
  }
  const names: ReadonlySet<string> = new Set(Object.keys(plans ?? {}));
  if (names.size === 0) throw refusal(field, 'changes nothing without plans; give plans too');
  if (typeof plan === 'object' && plan !== null) return byTable(plan, names, field, context);
  const read = typeof plan === 'function' ? plan : compileSource(plan, field, context.clientIp);
  return knownOnly(read, names, field, context.report);
}

/** Values that the table does not have are expected: not everybody has a plan. */
function byTable<Request>(
  { by, of, ...others }: Extract<PlanSource, { readonly by: string }>,
  names: ReadonlySet<string>,
  field: string,
  { clientIp }: Pick<KeyContext, 'clientIp'>,
): PlanOf<Request> {
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw refusal(`${field}.${unknown}`, 'unknown; a table of plans takes by and of');
  const read = compileSource(by, `${field}.by`, clientIp);
  if (typeof of !== 'object' || of === null) throw refusal(`${field}.of`, `expected plans by value, got ${show(of)}`);
  const table = new Map(Object.entries(of));
  for (const [value, name] of table) {
    if (names.has(name)) continue;
    throw refusal(`${field}.of`, `${show(value)}: there is no plan ${show(name)}${listed(names)}`);
  }
  return (view, params) => {
    const value = read(view, params);
    return value === undefined ? undefined : table.get(value);
  };
}

/** Other names are told once: whoever sends requests may have made them up. */
function knownOnly<Request>(
  read: PlanOf<Request>,
  names: ReadonlySet<string>,
  field: string,
  report: KeyContext['report'],
): PlanOf<Request> {
  let isTold = false;
  const tell = (message: string): undefined => {
    if (!isTold) report(new ComportaError('ERR_PLAN', `${field}: ${message}; the policy's own limits apply`, field));
    isTold = true;
    return undefined;
  };
  return (view, params) => {
    try {
      const name = unawaited(read(view, params));
      if (name === undefined || name === null || names.has(name)) return name ?? undefined;
      return tell(`there is no plan ${show(name)}${listed(names)}`);
    } catch (error) {
      return tell(`the function failed: ${messageOf(error)}`);
    }
  };
}

const listed = (names: ReadonlySet<string>): string => ` among ${[...names].join(', ')}`;
