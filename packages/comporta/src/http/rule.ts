import { ComportaError, isComportaError } from '../core/errors.js';
import { createLimiter } from '../limiter/create.js';
import type { Limiter, LimiterOptions } from '../limiter/limiter.js';
import type { CompiledPolicy } from '../policies/compile.js';
import type { Store } from '../stores/store.js';
import { describePolicy, type PolicyFields } from './fields.js';
import type { GateOptions } from './gate.js';

/** A policy at work: compiled, with its limiter and its fields. */
export interface Rule<Request = unknown> extends CompiledPolicy<Request> {
  readonly limiter: Limiter;
  readonly fields: PolicyFields;
  readonly shadow: boolean;
}

/** Gives a policy its limiter; errors name the policy's own field. */
export function createRule<Request>(
  compiled: CompiledPolicy<Request>,
  store: Store,
  options: GateOptions<Request>,
): Rule<Request> {
  const limiter = limiterOf(compiled, store, options);
  return { ...compiled, limiter, fields: describePolicy(limiter), shadow: compiled.policy.shadow ?? false };
}

function limiterOf<Request>(
  { policy, field }: CompiledPolicy<Request>,
  store: Store,
  shared: GateOptions<Request>,
): Limiter {
  const timeoutMs = policy.timeoutMs ?? shared.timeoutMs;
  const onStoreFailure = policy.onStoreFailure ?? shared.onStoreFailure;
  const { instances, payBack } = shared;
  const options: LimiterOptions = {
    policy: policy.name,
    limits: policy.limits,
    store,
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

/** Options of the gate alone. */
const SHARED: readonly string[] = ['store', 'instances', 'payBack'];

/** Settings that a policy takes from the gate keep their name; all others are the policy's. */
function located({ code, message, field }: ComportaError, policy: object, start: string): ComportaError {
  const isShared =
    SHARED.includes(field) || ((field === 'timeoutMs' || field === 'onStoreFailure') && !Object.hasOwn(policy, field));
  return isShared
    ? new ComportaError(code, message, field)
    : new ComportaError(code, `${start}.${message}`, `${start}.${field}`);
}

/** Two policies must not write items of one name: a client could not tell them apart. */
export function checkItemNames(rules: readonly Rule<never>[]): void {
  const owners = new Map<string, Rule<never>>();
  for (const rule of rules) {
    for (const { name } of rule.fields.limits) {
      const owner = owners.get(name);
      if (owner !== undefined) {
        const message = `${rule.field}.name: the fields would name both it and ${owner.field} "${name}"; rename one`;
        throw new ComportaError('ERR_POLICY', message, `${rule.field}.name`);
      }
      owners.set(name, rule);
    }
  }
}
