import type { Decision } from '../core/decision.js';
import { type Check, decideAll } from '../limiter/combine.js';
import type { CallOptions } from '../limiter/limiter.js';
import type { MaybePromise } from '../stores/store.js';

/** One policy that applies to a request, with what to ask its limiter. */
export interface Ask extends Check {
  /** Asked and reported, never enforced. */
  readonly shadow: boolean;
  readonly cost: number;
}

/** Decisions on all asks, in their order. A request that is refused costs nobody anything, shadow policies included. */
export function decideEach(asks: readonly Ask[], options: CallOptions): MaybePromise<readonly Decision[]> {
  const [only] = asks;
  if (asks.length === 1 && only !== undefined) return chain(decideOne(only, options), (decision) => [decision]);
  const shadows = asks.filter(({ shadow }) => shadow);
  const enforced = shadows.length === 0 ? asks : asks.filter(({ shadow }) => !shadow);
  const combined = decideAll(enforced, options);
  if (shadows.length === 0) return chain(combined, ({ decisions }) => decisions);
  const watched = all(shadows.map((ask) => decideOne(ask, options)));
  return chain(all<unknown>([combined, watched]), (settled) => {
    const [{ allowed, decisions }, shadowed] = settled as [Awaited<typeof combined>, readonly Decision[]];
    if (!allowed) giveBack(shadows, shadowed);
    return inOrder(asks, decisions, shadowed);
  });
}

function decideOne({ limiter, subject, cost }: Ask, options: CallOptions): MaybePromise<Decision> {
  return limiter.decide(subject, cost === 1 ? options : { ...options, cost });
}

function giveBack(asks: readonly Ask[], decisions: readonly Decision[]): void {
  decisions.forEach((decision, i) => {
    // A limiter that was closed meanwhile has nothing to give back to.
    if (decision.allowed) asks[i]?.limiter.refund(decision).catch(() => {});
  });
}

function inOrder(
  asks: readonly Ask[],
  enforced: readonly Decision[],
  shadowed: readonly Decision[],
): readonly Decision[] {
  let [e, s] = [0, 0];
  return asks.map(({ shadow }) => (shadow ? shadowed[s++] : enforced[e++]) as Decision);
}

/** Goes on at once with a value, later with a promise: answers from memory cost no turn of the event loop. */
export function chain<T, U>(value: MaybePromise<T>, next: (settled: T) => U): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

function all<T>(values: readonly MaybePromise<T>[]): MaybePromise<readonly T[]> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly T[]);
}
