import { ComportaError } from '../../core/errors.js';
import { addressReader, type ClientAddress } from '../../http/client-address.js';
import type { Gate } from '../../http/gate.js';
import { keepAliveOf, stayAwake } from '../../http/keep-alive.js';
import { mount, type RateLimitOptions } from '../../http/mount.js';
import { thrownStatus } from '../../http/thrown-status.js';
import type { RequestView } from '../../http/view.js';
import type { Outcome } from '../../policies/policy.js';
import { ActionRefusedError } from './action-refused.js';
import { rememberedPeer } from './peer-address.js';

/** One call of a server action: what key, cost, count, allow and deny functions get as `request`. */
export interface ActionCall<Args extends readonly unknown[] = readonly unknown[]> {
  readonly headers: Headers;
  readonly args: Args;
}

export type ActionOptions<Args extends readonly unknown[], Denied = never> = RateLimitOptions<ActionCall<Args>> & {
  /** Name the platform, or say how; see `docs/next.md`. */
  readonly clientAddress?: ClientAddress<[call: ActionCall<Args>]>;
  /** Makes what the caller gets in place of the error. */
  readonly onDenied?: (refusal: ActionRefusedError, ...args: Args) => Denied;
};

/** An action behind a gate; `close` ends the gate. */
export interface Action<Args extends readonly unknown[], Result> {
  (...args: Args): Promise<Result>;
  readonly gate: Gate<ActionCall<Args>>;
  close(): Promise<void>;
}

/** Puts a limiter in front of an action. `headersOf` gives the header fields of the call that is being answered. */
export function limitCalls<Args extends readonly unknown[], Result, Denied>(
  action: (...args: Args) => Result | Promise<Result>,
  { clientAddress, onDenied, ...options }: ActionOptions<Args, Denied>,
  headersOf: () => Promise<Headers>,
): Action<Args, Result | Awaited<Denied>> {
  checkCallable(action, options, onDenied);
  const { check, gate } = mount(options as RateLimitOptions<ActionCall<Args>>);
  const addressOf = addressReader(clientAddress, ({ headers }) => headers, rememberedPeer);
  const call = async (...args: Args): Promise<Result | Awaited<Denied>> => {
    const request = { headers: await headersOf(), args };
    const verdict = stayAwake(await check(request, viewOf(request, addressOf(request))), () => keepAliveOf([]), gate);
    if (verdict.allowed) return settled(() => action(...args), verdict.finish);
    const refusal = new ActionRefusedError(verdict);
    if (onDenied === undefined) throw refusal;
    return await onDenied(refusal, ...args);
  };
  return Object.assign(call, { gate, close: () => gate.close() });
}

function checkCallable(action: unknown, options: object, onDenied: unknown): void {
  const policies = 'policies' in options && Array.isArray(options.policies) ? options.policies : [options];
  if (typeof action !== 'function') throw refusal('action', 'expected an async function');
  if (onDenied !== undefined && typeof onDenied !== 'function') throw refusal('onDenied', 'expected a function');
  if (policies.some((policy) => policy?.match !== undefined)) {
    throw refusal('match', 'a server action has no path or method of its own; leave match out');
  }
}

const refusal = (field: string, message: string): ComportaError =>
  new ComportaError('ERR_OPTION', `${field}: ${message}`, field);

function viewOf<Call extends ActionCall>(request: Call, peerAddress: string | undefined): RequestView<Call> {
  const header = (name: string): readonly string[] => {
    const value = request.headers.get(name);
    return value === null ? [] : [value];
  };
  return { request, method: 'POST', url: '/', route: undefined, peerAddress, header };
}

async function settled<T>(run: () => T | Promise<T>, finish: ((outcome: Outcome) => void) | undefined): Promise<T> {
  try {
    const result = await run();
    finish?.({ status: 200, aborted: false });
    return result;
  } catch (error) {
    finish?.({ status: thrownStatus(error), aborted: false });
    throw error;
  }
}
