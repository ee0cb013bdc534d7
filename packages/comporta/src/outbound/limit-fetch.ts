import { onAbort } from '../core/abort.js';
import type { Decision } from '../core/decision.js';
import { type Clock, systemClock } from '../core/time.js';
import { readAdvice } from './advice.js';
import { type CheckedOptions, checkOptions, type LimitFetchOptions } from './options.js';
import { Pauses } from './pauses.js';
import { notSent, type Refusal } from './refusal.js';
import { describeRequest, type FetchInput, isReplayable, signalOf } from './request.js';
import { sleep } from './sleep.js';

/** `fetch`, or anything that is called and answers like it. */
export type Fetch = (input: FetchInput, init?: RequestInit) => Promise<Response>;

/**
 * Wraps `fetch` so that requests wait for their turn under a third party's limit, and heed what its
 * answers say of it. A request whose turn cannot come in time is not sent: the answer is then a 429 made
 * here, or a 503 when nobody could count. Throws `ERR_OPTION` when an option is wrong.
 */
export function limitFetch(fetch: Fetch, options: LimitFetchOptions): Fetch {
  return wireFetch(fetch, options, systemClock);
}

/** As {@link limitFetch}, with the clock that times the waits: for tests. */
export function wireFetch(fetch: Fetch, options: LimitFetchOptions, clock: Clock): Fetch {
  const sender = new Sender(fetch, checkOptions(options), clock);
  return (input, init) => sender.send(input, init);
}

/** One call on its way. */
interface Call {
  readonly subject: string;
  readonly cost: number;
  readonly signal: AbortSignal | undefined;
  readonly deadlineMs: number;
  readonly retries: number;
}

/** The third party has asked for a pause while a call waited. */
const PAUSED: unique symbol = Symbol('paused');

/** Short times are mostly rounded up to a second; the limiter spaces requests better than that. */
const HEEDED_FROM_MS = 1001;

/** Waits before sending again when the third party names no time: doubling, half of it by chance. */
const BACK_OFF_MS = 1000;
const BACK_OFF_MAX_MS = 30_000;

class Sender {
  readonly #fetch: Fetch;
  readonly #options: CheckedOptions;
  readonly #clock: Clock;
  readonly #pauses: Pauses;

  constructor(fetch: Fetch, options: CheckedOptions, clock: Clock) {
    this.#fetch = fetch;
    this.#options = options;
    this.#clock = clock;
    this.#pauses = new Pauses(options.limiter, clock);
  }

  async send(input: FetchInput, init: RequestInit | undefined): Promise<Response> {
    const call = this.#callOf(input, init);
    for (let attempt = 0; ; attempt++) {
      const refusal = await this.#turn(call);
      if (refusal !== undefined) return this.#refused(call, refusal);
      const fetch = this.#fetch;
      const response = await fetch(input, init);
      const waitMs = this.#heed(call, response, attempt);
      if (waitMs === undefined) return response;
      await discard(response);
      if (waitMs > 0) await sleep(this.#clock, waitMs, call.signal);
    }
  }

  #callOf(input: FetchInput, init: RequestInit | undefined): Call {
    const { subject, cost, maxWaitMs, retries, retryMethods } = this.#options;
    const request = describeRequest(input, init);
    const mayRetry = retryMethods.has(request.method) && isReplayable(input, init);
    return {
      subject: subject(request),
      cost: cost(request),
      signal: signalOf(input, init),
      deadlineMs: this.#nowMs() + maxWaitMs,
      retries: mayRetry ? retries : 0,
    };
  }

  /** Waits until a request may go; the refusal when that does not fit in the time. */
  async #turn(call: Call): Promise<Refusal | undefined> {
    const { subject, signal, deadlineMs } = call;
    for (;;) {
      const pausedMs = await this.#pauses.pass(subject, deadlineMs - this.#nowMs(), signal);
      if (pausedMs > 0) return { reason: 'paused', retryAfterMs: pausedMs };
      const decision = await this.#wait(call);
      if (decision === PAUSED) continue;
      if (!decision.allowed) return decision;
      if (this.#pauses.leftMs(subject) === 0) return undefined;
      await this.#options.limiter.refund(decision);
    }
  }

  /** When a pause starts, all that wait leave the queue, and come back after it in the same order. */
  async #wait({ subject, cost, signal, deadlineMs }: Call): Promise<Decision | typeof PAUSED> {
    const leaving = new AbortController();
    if (signal?.aborted === true) throw signal.reason;
    const unlink = signal === undefined ? undefined : onAbort(signal, () => leaving.abort(signal.reason));
    const forget = this.#pauses.onStart(subject, () => leaving.abort(PAUSED));
    const maxWaitMs = Math.max(0, deadlineMs - this.#nowMs());
    try {
      return await this.#options.limiter.wait(subject, { cost, maxWaitMs, signal: leaving.signal });
    } catch (error) {
      if (error === PAUSED) return PAUSED;
      throw error;
    } finally {
      unlink?.();
      forget();
    }
  }

  /** Learns from an answer. Ms after which to send again; `undefined` when the answer is the caller's. */
  #heed({ subject, retries, deadlineMs }: Call, response: Response, attempt: number): number | undefined {
    const { isRefusal, waitMs } = readAdvice(response.status, response.headers, this.#nowMs());
    const isHeeded = waitMs !== undefined && (isRefusal || waitMs >= HEEDED_FROM_MS);
    const pauseMs = isHeeded ? Math.min(waitMs, this.#options.maxPauseMs) : 0;
    const pausedMs = pauseMs > 0 ? this.#pauses.start(subject, pauseMs) : 0;
    if (!isRefusal) return undefined;
    const delayMs = waitMs === undefined ? backOff(attempt) : Math.max(waitMs, pausedMs);
    const willRetry = attempt < retries && delayMs <= deadlineMs - this.#nowMs();
    const { status } = response;
    this.#tell({ subject, by: 'server', status, retryAfterMs: waitMs ?? null, willRetry });
    // The end of a pause is waited for with the turn.
    return willRetry ? (waitMs === undefined ? delayMs : 0) : undefined;
  }

  #refused({ subject }: Call, refusal: Refusal): Response {
    const response = notSent(this.#options.limiter.policy, refusal);
    const { status } = response;
    this.#tell({ subject, by: 'limiter', status, retryAfterMs: refusal.retryAfterMs, willRetry: false });
    return response;
  }

  #tell(event: Parameters<CheckedOptions['onLimited']>[0]): void {
    try {
      this.#options.onLimited(event);
    } catch {
      // The listener's fault is its own; the request goes on.
    }
  }

  #nowMs(): number {
    return this.#clock.nowUs() / 1000;
  }
}

function backOff(attempt: number): number {
  const ms = Math.min(BACK_OFF_MAX_MS, BACK_OFF_MS * 2 ** attempt);
  return ms / 2 + (Math.random() * ms) / 2;
}

/** Nobody reads it; without this its connection would stay taken. */
async function discard(response: Response): Promise<void> {
  try {
    await response.body?.cancel();
  } catch {
    // A body that failed already holds nothing.
  }
}
