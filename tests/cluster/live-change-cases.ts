import {
  concurrency,
  fixedWindow,
  type Limit,
  quota,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
} from 'comporta';

/** What a change does to a limit: how much it admits, or how fast that comes back. */
interface Change {
  readonly old: Limit;
  readonly next: Limit;
}

export const OLD = 1;
export const NEXT = 2;

/** Windows that outlast every run, so that nothing comes back: what was used must stay used. */
const sized: Readonly<Record<string, (limit: number) => Limit>> = {
  tokenBucket: (capacity) => tokenBucket({ capacity, refill: 1, every: '8h' }),
  slidingWindow: (limit) => slidingWindow({ limit, window: '8h' }),
  slidingWindowCounter: (limit) => slidingWindowCounter({ limit, window: '365d' }),
  fixedWindow: (limit) => fixedWindow({ limit, window: '8h', align: 'first-hit' }),
  quota: (limit) => quota({ limit, per: 'year', timeZone: 'Asia/Kathmandu' }),
  concurrency: (limit) => concurrency({ limit, lease: '8h' }),
};

/** Changes of how much is admitted. */
export const sizes: Readonly<Record<string, Change>> = Object.fromEntries(
  Object.entries(sized).flatMap(([name, of]) => [
    [`${name}-up`, { old: of(20), next: of(50) }],
    [`${name}-down`, { old: of(50), next: of(20) }],
  ]),
);

export const WINDOW_LIMIT = 20;
const windowOf = (window: number): Limit => slidingWindow({ limit: WINDOW_LIMIT, window });

/** Changes of a window's length, and the windows in ms. */
export const windows: Readonly<Record<string, Change>> = {
  'window-longer': { old: windowOf(500), next: windowOf(1500) },
  'window-shorter': { old: windowOf(1500), next: windowOf(500) },
};

export const CAPACITY = 10;
const bucketOf = (refill: number): Limit => tokenBucket({ capacity: CAPACITY, refill, every: '1s' });

/** Changes of a refill, and the rates in tokens per ms. */
export const refills: Readonly<Record<string, Change & { readonly rates: readonly [number, number] }>> = {
  'refill-faster': { old: bucketOf(4), next: bucketOf(16), rates: [0.004, 0.016] },
  'refill-slower': { old: bucketOf(16), next: bucketOf(4), rates: [0.016, 0.004] },
};

/** Every change, by the name of its policy. */
export const changes: Readonly<Record<string, Change>> = { ...sizes, ...windows, ...refills };

/** Two or three on each node of a cluster of three. */
export const subjects: readonly string[] = Array.from({ length: 6 }, (_, i) => `subject-${i}`);

/** Whether a decision was made by this limit. */
export function isBy(
  { limit, windowMs }: Limit,
  state: { readonly limit: number; readonly windowMs: number } | undefined,
) {
  return state?.limit === limit && state.windowMs === windowMs;
}
