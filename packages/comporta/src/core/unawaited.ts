/**
 * The same value. Functions of the application that must answer at once may be written `async`: nobody awaits what
 * they return, so a failure of it must not become an unhandled rejection, which ends a process.
 */
export function unawaited<T>(value: T): T {
  if (typeof (value as { then?: unknown } | null | undefined)?.then === 'function')
    Promise.resolve(value).catch(() => undefined);
  return value;
}
