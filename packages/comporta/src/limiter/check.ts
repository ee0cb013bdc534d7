import type { Decision } from '../core/decision.js';
import { ComportaError, show } from '../core/errors.js';
import type { CallOptions } from './limiter.js';

/** The form of the ids of decisions; those of looks begin with a dot, those by one part end with it and its number. */
const DECISION_ID = /^\.?[0-9a-z]{1,64}(?:\.[0-9a-z]{1,2})?$/;

const CALL_OPTIONS: ReadonlySet<string> = new Set(['cost', 'signal', 'timeoutMs', 'plan', 'shadow']);

/** Throws `ERR_COST` unless a cost is a whole number in a range. */
export function checkCost(
  cost: unknown,
  least: number,
  most: number = Number.MAX_SAFE_INTEGER,
): asserts cost is number {
  if (Number.isSafeInteger(cost) && (cost as number) >= least && (cost as number) <= most) return;
  const end = most === Number.MAX_SAFE_INTEGER ? '2^53 - 1' : most;
  throw new ComportaError(
    'ERR_COST',
    `cost: expected a whole number from ${least} to ${end}, got ${show(cost)}`,
    'cost',
  );
}

/** What a call costs; throws for what cannot be meant: a mistyped cost must not count as 1 in silence. */
export function checkCall(options: CallOptions): number {
  if (typeof options !== 'object' || options === null) {
    throw refusal('options', `expected { cost, signal, timeoutMs, plan, shadow }, got ${show(options)}`);
  }
  for (const name in options) {
    if (!CALL_OPTIONS.has(name)) {
      throw refusal(name, 'unknown option of a call; there are cost, signal, timeoutMs, plan and shadow');
    }
  }
  const { cost = 1, signal, timeoutMs } = options;
  checkCost(cost, 0);
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs >= 0)) {
    throw refusal('timeoutMs', `expected milliseconds of at least 0, got ${show(timeoutMs)}`);
  }
  if (
    signal !== undefined &&
    !(typeof signal?.aborted === 'boolean' && typeof signal.addEventListener === 'function')
  ) {
    throw refusal('signal', `expected an AbortSignal such as controller.signal, got ${show(signal)}`);
  }
  return cost;
}

/** Throws `ERR_OPTION` unless a decision is one of the policy. */
export function checkDecision(policy: string, decision: Decision): void {
  const { id, policy: ofPolicy, subject, limits } = decision ?? {};
  const isOurs = ofPolicy === policy && typeof id === 'string' && DECISION_ID.test(id);
  if (isOurs && typeof subject === 'string' && subject !== '' && Array.isArray(limits)) return;
  throw refusal('decision', `expected a decision of policy ${policy}`);
}

const EVENTS: readonly string[] = [
  'degraded',
  'recovered',
  'storeError',
  'config',
  'denied',
  'decision',
  'lease',
  'breaker',
];

/** Throws `ERR_OPTION` for events that do not exist, and for listeners that cannot be called. */
export function checkListener(name: string, listener: unknown): void {
  if (!EVENTS.includes(name)) throw refusal('on', `there is no event ${show(name)}; there are ${EVENTS.join(', ')}`);
  if (typeof listener !== 'function') throw refusal('on', `expected a function, got ${show(listener)}`);
}

/** Throws `ERR_REFUND` unless a decision is one of the policy that charged, and the amount a part of that. */
export function checkRefund(ofPolicy: string, decision: Decision, amount: number): void {
  const { id, policy, atUs, allowed, subject } = decision ?? {};
  const isOurs = typeof id === 'string' && DECISION_ID.test(id) && policy === ofPolicy;
  const isOfSubject = typeof subject === 'string' && subject !== '';
  if (!isOurs || !isOfSubject || allowed !== true || !Number.isSafeInteger(atUs) || atUs < 0) {
    throw new ComportaError('ERR_REFUND', `decision: expected an allowed decision of policy ${ofPolicy}`, 'decision');
  }
  if (!Number.isSafeInteger(amount) || amount < 0 || amount > decision.cost) {
    throw new ComportaError(
      'ERR_REFUND',
      `amount: expected a whole number from 0 to the decision's cost ${decision.cost}, got ${show(amount)}`,
      'amount',
    );
  }
}

function refusal(field: string, message: string): ComportaError {
  return new ComportaError('ERR_OPTION', `${field}: ${message}`, field);
}
