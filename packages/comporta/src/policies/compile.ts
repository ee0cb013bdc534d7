import { checkName } from '../algorithms/limits.js';
import { ComportaError, show } from '../core/errors.js';
import { compileKey, type Key, type KeyContext, messageOf, pathParamsOf, type SubjectOf } from '../identity/subject.js';
import type { RequestView } from '../identity/view.js';
import { compileMatch, type Matcher, patternsOf } from './match.js';
import type { Policy } from './policy.js';
import { refusal } from './refusal.js';

/** A policy that has been checked, with everything a request asks of it worked out ahead. */
export interface CompiledPolicy<Request = unknown> {
  readonly policy: Policy<Request>;
  /** Where the policy stands in the configuration: `policies[1]`. */
  readonly field: string;
  readonly match: Matcher;
  readonly subjectOf: SubjectOf<Request>;
  readonly costOf: CostOf<Request>;
}

/** Cost of a request: `given` by the caller, else the policy's own. Always a cost that a limiter takes. */
type CostOf<Request = unknown> = (view: RequestView<Request>, given: unknown) => number;

/** What compiling policies needs from its caller. */
export type PolicyContext = Pick<KeyContext, 'clientIp' | 'report'>;

const FIELDS: readonly string[] = ['name', 'match', 'key', 'limits', 'cost', 'timeoutMs', 'onStoreFailure', 'shadow'];

/** Checks and compiles a list of policies; throws `ERR_POLICY`, `ERR_KEY` or `ERR_COST` naming the field. */
export function compilePolicies<Request>(
  policies: readonly Policy<Request>[],
  context: PolicyContext,
): readonly CompiledPolicy<Request>[] {
  if (!Array.isArray(policies) || policies.length === 0) {
    throw refusal('policies', 'expected a list with at least one policy');
  }
  const compiled = policies.map((policy, i) => compilePolicy(policy as Policy<Request>, `policies[${i}]`, context));
  compiled.forEach(({ policy, field }, i) => {
    const first = compiled.findIndex((other) => other.policy.name === policy.name);
    if (first !== i) throw refusal(`${field}.name`, `${show(policy.name)} is the name of policies[${first}] already`);
  });
  return compiled;
}

function compilePolicy<Request>(
  policy: Policy<Request>,
  field: string,
  context: PolicyContext,
): CompiledPolicy<Request> {
  if (typeof policy !== 'object' || policy === null) throw refusal(field, `expected a policy, got ${show(policy)}`);
  for (const name of Object.keys(policy)) {
    if (!FIELDS.includes(name)) throw refusal(`${field}.${name}`, `unknown; a policy takes ${FIELDS.join(', ')}`);
  }
  checkName(policy.name, `${field}.name`);
  if (policy.limits === undefined) throw refusal(`${field}.limits`, 'missing; give at least one limit');
  if (!['undefined', 'boolean'].includes(typeof policy.shadow)) {
    throw refusal(`${field}.shadow`, `expected true or false, got ${show(policy.shadow)}`);
  }
  const match = compileMatch(policy.match, `${field}.match`);
  const key = policy.key ?? 'ip';
  const subjectOf = compileKey<Request>(key, { ...context, field: `${field}.key` });
  checkPathParams(key, policy, field);
  return { policy, field, match, subjectOf, costOf: compileCost(policy.cost, `${field}.cost`, context.report) };
}

/** A pattern without the parameter would send its requests to the anonymous subject, one and all. */
function checkPathParams<Request>(key: Key<Request>, { match }: Policy<Request>, field: string): void {
  for (const param of pathParamsOf(key)) {
    const patterns = patternsOf(match, `${field}.match`) ?? [];
    if (patterns.length > 0 && patterns.every(({ segments }) => segments.some((segment) => segment.param === param)))
      continue;
    const message = `path:${param} needs :${param} in every pattern of match.path`;
    throw new ComportaError('ERR_KEY', `${field}.key: ${message}`, `${field}.key`);
  }
}

function compileCost<Request>(
  cost: Policy<Request>['cost'],
  field: string,
  report: PolicyContext['report'],
): CostOf<Request> {
  if (typeof cost !== 'function' && cost !== undefined && !isCost(cost)) throw badCost(cost, field);
  const checked = (value: unknown): number => {
    if (isCost(value)) return value;
    report(badCost(value, field, '; the request costs 1'));
    return 1;
  };
  return (view, given) => {
    if (given !== undefined) return checked(given);
    if (typeof cost !== 'function') return cost ?? 1;
    try {
      return checked(cost(view));
    } catch (error) {
      report(
        new ComportaError('ERR_COST', `${field}: the function failed: ${messageOf(error)}; the request costs 1`, field),
      );
      return 1;
    }
  };
}

function isCost(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function badCost(value: unknown, field: string, ending = ''): ComportaError {
  return new ComportaError(
    'ERR_COST',
    `${field}: expected a whole number from 0 to 2^53 - 1, got ${show(value)}${ending}`,
    field,
  );
}
