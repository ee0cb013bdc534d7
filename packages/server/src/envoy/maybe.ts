import type { MaybePromise } from 'comporta';

/** Goes on with a value: at once where it is there, so that a store in memory costs no promise. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

const isPromise = (value: unknown): boolean => value instanceof Promise;

/** All values, in their order. */
export function allOf<T>(values: readonly MaybePromise<T>[]): MaybePromise<readonly T[]> {
  if (!values.some(isPromise)) return values as readonly T[];
  const [only] = values;
  return values.length === 1 ? (only as Promise<T>).then((value) => [value]) : Promise.all(values);
}
