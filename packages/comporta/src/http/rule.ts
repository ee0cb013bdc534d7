import { ComportaError, isComportaError } from '../core/errors.js';
import { createLimiter } from '../limiter/create.js';
import type { Limiter, LimiterOptions } from '../limiter/limiter.js';
import type { CompiledPolicy } from '../policies/compile.js';
import type { Store } from '../stores/store.js';
import { DecidedFields } from './decided-fields.js';
import type { GateOptions } from './gate.js';
import { usesInstances } from './gate-options.js';
import { holdsPlaces } from './unsettled.js';

/** A policy at work: compiled, with its limiter and its fields. */
export interface Rule<Request = unknown> extends CompiledPolicy<Request> {
  readonly limiter: Limiter;
  readonly fields: DecidedFields;
  /** Whether its requests may take places, which are theirs until their responses have ended. */
  readonly holds: boolean;
}

/** Gives a policy its limiter; errors name the policy's own field. */
export function createRule<Request>(
  compiled: CompiledPolicy<Request>,
  store: Store,
  options: GateOptions<Request>,
): Rule<Request> {
  const limiter = limiterOf(compiled, store, options);
  const { policy } = compiled;
  return { ...compiled, limiter, fields: new DecidedFields(limiter, policy), holds: mayHold(policy) };
}

/** Limits that this process does not know yet, of a subject or of a newer revision, may count places too. */
function mayHold(policy: CompiledPolicy<never>['policy']): boolean {
  return policy.overrides === true || policy.revision !== undefined || holdsPlaces(policy);
}

function limiterOf<Request>(
  { policy, field }: CompiledPolicy<Request>,
  store: Store,
  shared: GateOptions<Request>,
): Limiter {
  const timeoutMs = policy.timeoutMs ?? shared.timeoutMs;
  const onStoreFailure = policy.onStoreFailure ?? shared.onStoreFailure;
  // They may be set for the policies that use them beside others that do not.
  const payBack = (onStoreFailure ?? 'local') === 'local' ? shared.payBack : undefined;
  const instances = policy.instances ?? (usesInstances(onStoreFailure, policy) ? shared.instances : undefined);
  const options: LimiterOptions = {
    policy: policy.name,
    limits: policy.limits,
    store,
    ...defined({ plans: policy.plans, overrides: policy.overrides, revision: policy.revision, blocks: policy.blocks }),
    ...defined({ hold: policy.hold, lease: policy.lease, split: policy.split }),
    ...(instances === undefined ? {} : { instances }),
    ...(payBack === undefined ? {} : { payBack }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(onStoreFailure === undefined ? {} : { onStoreFailure }),
  };
  try {
    return createLimiter(options);
  } catch (error) {
    throw isComportaError(error) ? located(error, policy, field) : error;
  }
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as Defined<T>;
}

/** Options of the gate alone. */
const SHARED: readonly string[] = ['store', 'payBack'];
/** Those that a policy may set for itself. */
const OVERRIDABLE: readonly string[] = ['timeoutMs', 'onStoreFailure', 'instances'];

/** Settings that a policy takes from the gate keep their name; all others are the policy's. */
function located({ code, message, field }: ComportaError, policy: object, start: string): ComportaError {
  const isShared = SHARED.includes(field) || (OVERRIDABLE.includes(field) && !Object.hasOwn(policy, field));
  return isShared
    ? new ComportaError(code, message, field)
    : new ComportaError(code, `${start}.${message}`, `${start}.${field}`);
}

/** Two policies must not write items of one name: a client could not tell them apart. */
export function checkItemNames(rules: readonly Rule<never>[]): void {
  const owners = new Map<string, Rule<never>>();
  for (const rule of rules) {
    for (const name of new Set(rule.fields.known.flatMap(({ limits }) => limits.map((limit) => limit.name)))) {
      const owner = owners.get(name);
      if (owner !== undefined) {
        const message = `${rule.field}.name: the fields would name both it and ${owner.field} "${name}"; rename one`;
        throw new ComportaError('ERR_POLICY', message, `${rule.field}.name`);
      }
      owners.set(name, rule);
    }
  }
}
