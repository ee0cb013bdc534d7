import type { Decision } from '../core/decision.js';
import type { CallOptions, Limiter } from '../limiter/limiter.js';
import type { MaybePromise } from '../stores/store.js';

/** One policy that applies to a request, with what to ask its limiter. */
export interface Ask {
  readonly limiter: Limiter;
  readonly subject: string;
  readonly cost: number;
  readonly plan: string | undefined;
  /** Asked and reported, never enforced. */
  readonly shadow: boolean;
}

/** Told of work that goes on after a decision. */
export type Background = (work: Promise<unknown>) => void;

/**
 * Decisions on all asks, made in parallel, in their order. A request that is refused costs nobody
 * anything, shadow policies included.
 */
export function decideEach(
  asks: readonly Ask[],
  options: CallOptions,
  background: Background,
): MaybePromise<readonly Decision[]> {
  const [only] = asks;
  if (asks.length === 1 && only !== undefined) {
    const decision = decideOne(only, options);
    return decision instanceof Promise ? decision.then((settled) => [settled]) : [decision];
  }
  return chain(all(askAll(asks, options, background)), (decisions) => {
    const isRefused = decisions.some(({ allowed }, i) => !allowed && asks[i]?.shadow === false);
    if (isRefused) background(giveBack(asks, decisions));
    return decisions;
  });
}

/** What one limiter throws is thrown; what was asked before it goes back. */
function askAll(asks: readonly Ask[], options: CallOptions, background: Background): readonly MaybePromise<Decision>[] {
  const answers: MaybePromise<Decision>[] = [];
  try {
    for (const ask of asks) answers.push(decideOne(ask, options));
    return answers;
  } catch (error) {
    background(Promise.all(answers).then((decisions) => giveBack(asks, decisions)));
    throw error;
  }
}

function decideOne({ limiter, subject, cost, plan, shadow }: Ask, options: CallOptions): MaybePromise<Decision> {
  if (plan === undefined && !shadow) return limiter.decide(subject, cost === 1 ? options : { ...options, cost });
  return limiter.decide(subject, { ...options, cost, shadow, ...(plan === undefined ? {} : { plan }) });
}

function giveBack(asks: readonly Ask[], decisions: readonly Decision[]): Promise<unknown> {
  const refunds = decisions.map((decision, i) => (decision.allowed ? asks[i]?.limiter.refund(decision) : undefined));
  // A limiter that was closed meanwhile has nothing to give back to.
  return Promise.allSettled(refunds);
}

/** Goes on at once with a value, later with a promise: answers from memory cost no turn of the event loop. */
export function chain<T, U>(value: MaybePromise<T>, next: (settled: T) => U): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

function all<T>(values: readonly MaybePromise<T>[]): MaybePromise<readonly T[]> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly T[]);
}
