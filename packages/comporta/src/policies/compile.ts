import { checkName } from '../algorithms/limits.js';
import { ComportaError, show } from '../core/errors.js';
import { type ClientOf, clientNameOf } from '../identity/client-name.js';
import {
  compileKey,
  GLOBAL,
  type Key,
  type KeyContext,
  pathParamsOf,
  type SubjectOf,
  subjectAsNamed,
  subjectForm,
  subjectOfValue,
} from '../identity/subject.js';
import type { RequestView } from '../identity/view.js';
import { compileAccess, type IsListed } from './access.js';
import { type CostOf, compileCost } from './cost.js';
import { compileCount, type FinalCost } from './count.js';
import { compileMatch, type Matcher, patternsOf } from './match.js';
import { compilePlan, type PlanOf } from './plan.js';
import type { Policy } from './policy.js';
import { refusal } from './refusal.js';
import { compileShadow, type IsShadowed } from './shadow.js';

/** A policy that has been checked, with everything a request asks of it worked out ahead. */
export interface CompiledPolicy<Request = unknown> {
  readonly policy: Policy<Request>;
  /** Where the policy stands in the configuration: `policies[1]`. */
  readonly field: string;
  readonly match: Matcher;
  readonly subjectOf: SubjectOf<Request>;
  readonly costOf: CostOf<Request>;
  /** What is `undefined` here is nothing that a request has to be asked. */
  readonly planOf: PlanOf<Request> | undefined;
  readonly finalCost: FinalCost<Request> | undefined;
  readonly isAllowed: IsListed<Request> | undefined;
  readonly isDenied: IsListed<Request> | undefined;
  readonly isShadowed: IsShadowed;
}

/** What compiling policies needs from its caller. */
export interface PolicyContext extends Pick<KeyContext, 'report'> {
  readonly clientOf: ClientOf;
  /** As `clientOf` has it. */
  readonly ipv6Prefix?: number | undefined;
}

/** Everything that a policy may say. */
export const POLICY_FIELDS: readonly string[] = [
  'name',
  'match',
  'key',
  'limits',
  'cost',
  'timeoutMs',
  'onStoreFailure',
  'instances',
  'hold',
  'lease',
  'split',
  'count',
  'plans',
  'plan',
  'blocks',
  'overrides',
  'revision',
  'allow',
  'deny',
  'shadow',
];

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
    if (!POLICY_FIELDS.includes(name))
      throw refusal(`${field}.${name}`, `unknown; a policy takes ${POLICY_FIELDS.join(', ')}`);
  }
  checkName(policy.name, `${field}.name`);
  if (policy.limits === undefined) throw refusal(`${field}.limits`, 'missing; give at least one limit');
  const key = policy.key ?? 'ip';
  const keyContext = {
    ...context,
    field: `${field}.key`,
    clientIp: (view: RequestView) => context.clientOf(view)?.name,
  };
  const compiled = {
    policy,
    field,
    match: compileMatch(policy.match, `${field}.match`),
    subjectOf: compileKey<Request>(key, keyContext),
    costOf: compileCost(policy.cost, `${field}.cost`, context.report),
    planOf: compilePlan(policy, `${field}.plan`, keyContext),
    finalCost: compileCount(policy.count, `${field}.count`, context.report),
    isAllowed: compileAccess(policy.allow, `${field}.allow`, key, context),
    isDenied: compileAccess(policy.deny, `${field}.deny`, key, context),
    isShadowed: compileShadow(policy, `${field}.shadow`),
  };
  checkPathParams(key, policy, field, 'key');
  checkSplitSubjects(key, policy, `${field}.split.subjects`, context.ipv6Prefix);
  const { plan } = policy;
  if (typeof plan !== 'function' && plan !== undefined) {
    checkPathParams(typeof plan === 'string' ? plan : plan.by, policy, field, 'plan');
  }
  return compiled;
}

/** Subjects that the key never names would stay whole, and nobody would know. */
function checkSplitSubjects<Request>(
  key: Key<Request>,
  { split }: Policy<Request>,
  field: string,
  ipv6Prefix: number | undefined,
): void {
  const subjects: unknown = split?.subjects;
  const form = subjectForm(key);
  const asNamed = (subject: string): string | undefined =>
    subjectAsNamed(key, subject, (address) => clientNameOf(address, ipv6Prefix));
  for (const [i, subject] of (Array.isArray(subjects) ? subjects : []).entries()) {
    const named = typeof subject === 'string' ? asNamed(subject) : subject;
    if (named === subject) continue;
    // The value alone may be meant.
    const whole = subject.includes('=') ? undefined : subjectOfValue(key, subject);
    const fix = form === GLOBAL ? GLOBAL : (named ?? (whole && asNamed(whole)));
    const hint = `its subjects are named ${form}${fix === undefined ? '' : `: write ${show(fix)}`}`;
    throw refusal(`${field}[${i}]`, `no subject of this key has the name ${show(subject)}; ${hint}`);
  }
}

/** A pattern without the parameter would send its requests to the anonymous subject, one and all. */
function checkPathParams<Request>(
  key: Key<Request>,
  { match }: Policy<Request>,
  field: string,
  name: 'key' | 'plan',
): void {
  for (const param of pathParamsOf(key)) {
    const patterns = patternsOf(match, `${field}.match`) ?? [];
    if (patterns.length > 0 && patterns.every(({ segments }) => segments.some((segment) => segment.param === param)))
      continue;
    const message = `path:${param} needs :${param} in every pattern of match.path`;
    throw new ComportaError('ERR_KEY', `${field}.${name}: ${message}`, `${field}.${name}`);
  }
}
