import { ComportaError } from '../core/errors.js';
import type { Policy } from '../policies/policy.js';

type Given = Partial<Pick<Policy<never>, 'count' | 'limits' | 'plans'>>;

/** Whether a policy has limits that count places, which are held until a response has ended. */
export function holdsPlaces({ limits = [], plans = {} }: Pick<Given, 'limits' | 'plans'>): boolean {
  return [limits, ...Object.values(plans ?? {})].flat().some((limit) => limit?.algorithm?.holds === true);
}

/** Refuses policies that need to know how a request ended, where nobody sees that; `wayOut` says what to do. */
export function refuseUnsettled(options: unknown, where: string, wayOut: string): void {
  const { policies: list } = (options ?? {}) as { readonly policies?: unknown };
  const policies = (Array.isArray(list) ? list : [options]) as readonly (Given | null | undefined)[];
  for (const [i, policy] of policies.entries()) {
    const { count = 'all' } = policy ?? {};
    const fault = count !== 'all' ? 'count' : holdsPlaces(policy ?? {}) ? 'limits' : undefined;
    if (fault === undefined) continue;
    const field = Array.isArray(list) ? `policies[${i}].${fault}` : fault;
    const needs = fault === 'count' ? 'only "all" can be counted' : 'places of a concurrency limit cannot be freed';
    throw new ComportaError(
      'ERR_OPTION',
      `${field}: ${where} never sees how a request ends, so ${needs}; ${wayOut}`,
      field,
    );
  }
}
