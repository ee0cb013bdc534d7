import type { FailureMode } from '../core/decision.js';
import { ComportaError, show } from '../core/errors.js';

const KINDS: Readonly<Record<string, 'object' | 'boolean' | 'function' | 'checked elsewhere'>> = {
  policies: 'checked elsewhere',
  store: 'checked elsewhere',
  timeoutMs: 'checked elsewhere',
  onStoreFailure: 'checked elsewhere',
  instances: 'checked elsewhere',
  payBack: 'checked elsewhere',
  trustedProxies: 'checked elsewhere',
  forwardedHeader: 'checked elsewhere',
  ipv6Prefix: 'checked elsewhere',
  headers: 'checked elsewhere',
  allow: 'checked elsewhere',
  deny: 'checked elsewhere',
  countPreflight: 'boolean',
  onError: 'function',
  onVerdict: 'function',
};

export const isGateOption = (name: string): boolean => Object.hasOwn(KINDS, name);

/** Refuses options that nobody reads, and values that would only fail on a request. */
export function checkGateOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null)
    throw refusal('options', `expected { policies, ... }, got ${show(options)}`);
  for (const [name, value] of Object.entries(options)) {
    const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
    if (kind === undefined) throw refusal(name, `unknown; it takes ${Object.keys(KINDS).join(', ')}`);
    if (kind !== 'checked elsewhere' && value !== undefined && typeof value !== kind) {
      throw refusal(name, `expected a ${kind}, got ${show(value)}`);
    }
  }
}

/** Whether a policy shares its limits, or its leases, by the number of processes. */
export const usesInstances = (mode: FailureMode | undefined, { lease }: { readonly lease?: object }): boolean =>
  lease !== undefined || (mode ?? 'local') === 'local';

/** A number of processes that no policy uses is a limit that nobody keeps. */
export function checkInstances(instances: unknown, uses: readonly boolean[]): void {
  if (typeof instances !== 'number' || uses.length === 0 || uses.includes(true)) return;
  throw refusal('instances', 'changes nothing, for no policy has onStoreFailure local or a lease; remove it');
}

/** When a Fastify limiter decides. */
export function checkHook(hook: unknown = 'onRequest'): 'onRequest' | 'preHandler' {
  if (hook === 'onRequest' || hook === 'preHandler') return hook;
  throw refusal('hook', `expected onRequest or preHandler, got ${show(hook)}`);
}

function refusal(field: string, message: string): ComportaError {
  return new ComportaError('ERR_OPTION', `${field}: ${message}`, field);
}
