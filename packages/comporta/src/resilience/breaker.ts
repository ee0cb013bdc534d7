/** When a breaker opens and for how long. */
export interface BreakerSettings {
  /** Opens after this many failures with no success between them. */
  readonly consecutiveFailures: number;
  /** Opens when at least this share of the calls of one {@link BreakerSettings.windowMs} failed ... */
  readonly failureRatio: number;
  /** ... and there were at least this many, and as many failed calls as suffice in a row. */
  readonly minimumCalls: number;
  readonly windowMs: number;
  /** First open time; doubles with every failed probe and with every reopening soon after a closing. */
  readonly openMs: number;
  readonly openMaxMs: number;
}

export const BREAKER_DEFAULTS: BreakerSettings = {
  consecutiveFailures: 3,
  failureRatio: 0.5,
  minimumCalls: 20,
  windowMs: 5000,
  openMs: 100,
  openMaxMs: 400,
};

/** Closed long enough to forget earlier openings. */
const CALM_MS = 10_000;

/** Open times are spread by this much, so that processes do not probe together. */
const JITTER_MIN = 0.75;
const JITTER_MAX = 1.25;

export type BreakerState =
  | { readonly kind: 'closed'; readonly sinceMs: number }
  | { readonly kind: 'open'; readonly sinceMs: number; readonly untilMs: number }
  /** One probe is under way; nobody else may call. A probe that never reports frees its place at `untilMs`. */
  | { readonly kind: 'halfOpen'; readonly untilMs: number };

/** What a breaker says to a call. */
export type Admission = 'call' | 'probe' | 'refused';

/**
 * Decides whether a node may be asked. Fed by the outcomes of commands, never by connections: a node
 * that accepts connections and answers nothing is dead. Pure but for its own state: time and chance
 * are arguments.
 */
export class Breaker {
  readonly #settings: BreakerSettings;
  #state: BreakerState = { kind: 'closed', sinceMs: 0 };
  #consecutive = 0;
  /** When the last failure in a row was counted. */
  #countedAtMs = 0;
  #calls = 0;
  #failures = 0;
  /** As the failures; one of a call that several waited for. */
  #failedCalls = 0;
  #windowEndsMs = 0;
  /** Openings without a calm time between them. */
  #openings = 0;

  constructor(settings: BreakerSettings = BREAKER_DEFAULTS) {
    this.#settings = settings;
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** Whether a call may go now. `probe` is given to one caller at a time, who must report the outcome. */
  admit(nowMs: number, probeMs: number): Admission {
    if (this.#state.kind === 'closed') return 'call';
    // A wait longer than any that is ever set means that the clock stepped back.
    const waitMs = this.#state.untilMs - nowMs;
    if (waitMs > 0 && waitMs <= Math.max(probeMs, this.#settings.openMaxMs * JITTER_MAX)) return 'refused';
    this.#state = { kind: 'halfOpen', untilMs: nowMs + probeMs };
    return 'probe';
  }

  /**
   * A command was answered. While open this can only be one that was let through elsewhere: it closes the
   * breaker if it was sent after the opening.
   */
  success(nowMs: number, sentAtMs: number = nowMs): void {
    this.#consecutive = 0;
    if (this.#state.kind === 'closed') {
      this.#count(nowMs, 0);
      return;
    }
    if (this.#state.kind === 'open' && sentAtMs < this.#state.sinceMs) return;
    this.#state = { kind: 'closed', sinceMs: nowMs };
    this.#windowEndsMs = 0;
  }

  /**
   * A command failed or was not answered in time. `chance` is from 0 to 1 and spreads processes. Of calls
   * that were under way together only one counts as a failure in a row: one pause is one sign. `isKnown`: of a call
   * that several waited for, another was told of before.
   */
  failure(nowMs: number, chance: number, sentAtMs: number = nowMs, isKnown: boolean = false): void {
    if (this.#state.kind === 'open') return;
    if (sentAtMs >= this.#countedAtMs || nowMs < this.#countedAtMs) {
      this.#consecutive++;
      this.#countedAtMs = nowMs;
    }
    if (this.#state.kind === 'closed') this.#count(nowMs, 1);
    if (!isKnown) this.#failedCalls++;
    const { consecutiveFailures, minimumCalls, failureRatio } = this.#settings;
    const areEnough = this.#calls >= minimumCalls && this.#failedCalls >= consecutiveFailures;
    const isFailing = areEnough && this.#failures >= this.#calls * failureRatio;
    const probeFailed = this.#state.kind === 'halfOpen';
    if (probeFailed || isFailing || this.#consecutive >= consecutiveFailures) this.#open(nowMs, chance);
  }

  #count(nowMs: number, failures: number): void {
    if (nowMs >= this.#windowEndsMs) {
      this.#windowEndsMs = nowMs + this.#settings.windowMs;
      this.#calls = 0;
      this.#failures = 0;
      this.#failedCalls = 0;
    }
    this.#calls++;
    this.#failures += failures;
  }

  #open(nowMs: number, chance: number): void {
    const { openMs, openMaxMs } = this.#settings;
    const wasCalm = this.#state.kind === 'closed' && nowMs - this.#state.sinceMs >= CALM_MS;
    this.#openings = wasCalm ? 1 : this.#openings + 1;
    const baseMs = Math.min(openMaxMs, openMs * 2 ** Math.min(this.#openings - 1, 20));
    const openForMs = baseMs * (JITTER_MIN + (JITTER_MAX - JITTER_MIN) * chance);
    this.#state = { kind: 'open', sinceMs: nowMs, untilMs: nowMs + openForMs };
  }
}
