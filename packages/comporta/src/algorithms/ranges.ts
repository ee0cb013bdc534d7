/** Ten years: the longest window, period or time-to-full that a limit may have, in ms. */
export const DURATION_MAX_MS: number = 10 * 366 * 86_400_000;

/** Largest capacity, limit or refill. */
export const UNITS_MAX = 1_000_000_000;

/** The exact log keeps one entry per admitted request, so its limit is bounded harder. */
export const LOG_ENTRIES_MAX = 1_000_000;

/** A limit of requests at once keeps one entry for each. */
export const HOLDERS_MAX = 100_000;

/** Running totals of the exact log are counted anew beyond this, so that they fit into 32 bits. */
export const TOTAL_MAX = 4_294_967_295;

/** Debts may lift a use above its limit, but not above this: sums stay whole numbers. */
export const USE_MAX: number = 2 ** 52;
