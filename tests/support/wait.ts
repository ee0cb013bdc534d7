export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly everyMs?: number;
  /** What is waited for, for the message of the failure. */
  readonly what?: string;
}

type Found<T> = Exclude<T, false | undefined | null>;

/**
 * Polls until the condition gives something other than false, undefined or null, and returns it. An
 * exception counts as "not yet" and is named when time is up.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 15_000, everyMs = 20, what = 'the condition' }: WaitOptions = {},
): Promise<Found<T>> {
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    let fault: unknown;
    try {
      const value = await condition();
      if (value !== false && value !== undefined && value !== null) return value as Found<T>;
    } catch (error) {
      fault = error;
    }
    if (performance.now() > endMs) throw new Error(`${what}: still not so after ${timeoutMs} ms`, { cause: fault });
    await sleep(everyMs);
  }
}

/** The least that some calls took, one after the other: a machine that stands still for a moment is in one of them. */
export async function quickestMs(call: () => unknown, times = 5): Promise<number> {
  let quickest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < times; i++) {
    const startMs = performance.now();
    await call();
    quickest = Math.min(quickest, performance.now() - startMs);
  }
  return quickest;
}

/** For pacing in support code and fault plans; a test that waits for something calls {@link until}. */
export function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
