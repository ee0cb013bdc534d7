import { ComportaError, show } from '../../core/errors.js';
import type { NameParts } from '../../http/derived-name.js';
import { createGate } from '../../http/gate.js';
import type { Policy } from '../../policies/policy.js';

type OwnPolicy<Context> = Omit<Policy<Context>, 'name'> & { readonly name?: string };

/** A cost for the guard's policies, or a policy in place of them; named after the guard, the class and the method. */
export type HandlerLimits<Context> = { readonly cost: number } | OwnPolicy<Context>;

/** A policy in place of the guard's, and what its name is made of where it has none. */
export interface PolicyRule<Context> {
  readonly policy: OwnPolicy<Context>;
  /** To be asked when all classes are loaded. */
  nameParts(): NameParts;
}

/** What a decorator says of a handler; `false` leaves it out. */
export type HandlerRule<Context> = false | { readonly cost: number } | PolicyRule<Context>;

/** A decorator of methods and classes. */
export type HandlerDecorator = (target: object, key?: unknown, descriptor?: { readonly value?: unknown }) => void;

/** What is used of `reflect-metadata`, which Nest loads. Decorators that replace a method copy what is kept there. */
interface WithMetadata {
  defineMetadata?(key: string, value: unknown, target: object): void;
  getMetadata?(key: string, target: object): unknown;
}

const KEY = 'comporta:rate-limit';
const reflect: WithMetadata = Reflect;

/** Limits a handler, or all handlers of a class, differently. Throws a `ComportaError` where it is applied. */
export function limitHandler<Context>(limits: HandlerLimits<Context>): HandlerDecorator {
  return (target, key, descriptor) => {
    const owner = typeof target === 'function' ? target : target.constructor;
    const label = [owner.name, ...(typeof key === 'string' ? [key] : [])].join('.');
    define(target, descriptor, ruleFrom(limits, label, owner));
  };
}

/** Leaves a handler, or all handlers of a class, out. */
export function skipHandler(): HandlerDecorator {
  return (target, _key, descriptor) => define(target, descriptor, false);
}

/** What was said of the method, else what was said of its class or of the classes above that. */
export function ruleOf<Context>(context: {
  getHandler(): unknown;
  getClass(): unknown;
}): HandlerRule<Context> | undefined {
  const read = (target: unknown) => {
    if (typeof target !== 'function') return undefined;
    return reflect.getMetadata?.(KEY, target) ?? Reflect.get(target, KEY);
  };
  return (read(context.getHandler()) ?? read(context.getClass())) as HandlerRule<Context> | undefined;
}

function define(target: object, descriptor: { readonly value?: unknown } | undefined, rule: unknown): void {
  const owner = typeof descriptor?.value === 'function' ? descriptor.value : target;
  if (reflect.defineMetadata !== undefined) reflect.defineMetadata(KEY, rule, owner);
  else Object.defineProperty(owner, KEY, { value: rule, configurable: true });
}

function ruleFrom<Context>(limits: HandlerLimits<Context>, label: string, owner: object): HandlerRule<Context> {
  if (typeof limits !== 'object' || limits === null || !('limits' in limits)) return { cost: costOf(limits) };
  // Made once for its checks: what is wrong shows where it is written, and not with the first request.
  void createGate({ policies: [{ name: 'default', ...limits }] }).close();
  owners.set(label, (owners.get(label) ?? owner) === owner ? owner : SEVERAL);
  return { policy: limits, nameParts: () => partsOf(label, owner) };
}

const SEVERAL = {};
/** The classes whose handlers were limited, by the names of those. */
const owners: Map<string, object> = new Map();

/** Classes of one name are told apart by where Nest routes to them. */
function partsOf(label: string, owner: object): NameParts {
  const routed = ['path', 'host', '__version__'].map((key) => reflect.getMetadata?.(key, owner));
  return {
    readable: label.replaceAll(/[^\w.-]+/g, ''),
    identity: `${label} ${JSON.stringify(routed)}`,
    isDistinct: /^[\w.-]+$/.test(label) && owners.get(label) !== SEVERAL,
  };
}

function costOf(given: unknown): number {
  const { cost, ...others } = Object(given) as { readonly cost?: unknown };
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw refusal(unknown, 'unknown beside cost; a policy has limits');
  if (Number.isSafeInteger(cost) && (cost as number) >= 0) return cost as number;
  throw refusal('cost', `expected a whole number from 0, or a policy with limits, got ${show(cost)}`);
}

const refusal = (field: string, message: string): ComportaError =>
  new ComportaError('ERR_OPTION', `RateLimit: ${field}: ${message}`, field);
