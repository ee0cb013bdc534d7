import { startTimer } from '../time.js';
import type { GatewayObserver } from './observer.js';

/** A line for each upstream that fails, at most one in this time. */
const EVERY_MS = 10_000;

export interface UpstreamFailure {
  readonly upstream: string;
  readonly cause: string;
  /** Failures since the line before. */
  readonly failures: number;
}

/** Says which upstreams fail and why, without flooding the log when every request fails. */
export class UpstreamLog {
  readonly #write: (failure: UpstreamFailure) => void;
  readonly #observers: readonly GatewayObserver[];
  readonly #everyMs: number;
  /** Upstreams with a line in the last while, and what came after it. */
  readonly #pending: Map<string, UpstreamFailure> = new Map();

  constructor(
    write: (failure: UpstreamFailure) => void,
    observers: readonly GatewayObserver[] = [],
    everyMs: number = EVERY_MS,
  ) {
    this.#write = write;
    this.#observers = observers;
    this.#everyMs = everyMs;
  }

  note(upstream: string, cause: string): void {
    for (const observer of this.#observers) observer.failed?.(upstream, cause);
    const pending = this.#pending.get(upstream);
    if (pending === undefined) this.#say({ upstream, cause, failures: 1 });
    else this.#pending.set(upstream, { upstream, cause, failures: pending.failures + 1 });
  }

  #say(failure: UpstreamFailure): void {
    const { upstream } = failure;
    this.#write(failure);
    this.#pending.set(upstream, { ...failure, failures: 0 });
    startTimer(this.#everyMs, () => {
      const pending = this.#pending.get(upstream);
      this.#pending.delete(upstream);
      if (pending !== undefined && pending.failures > 0) this.#say(pending);
    }).unref();
  }
}

const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'host name not resolved',
  ETIMEDOUT: 'no connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_SOCKET: 'connection closed before the end of the answer',
  UND_ERR_BODY_TIMEOUT: 'silence inside the answer',
  UND_ERR_HEADERS_OVERFLOW: 'response headers too large',
};

/** An error of an upstream's connection in words. */
export function causeOf(error: NodeJS.ErrnoException): string {
  const { code = '', message } = error;
  return CAUSES[code] ?? (code.startsWith('HPE_') ? `not HTTP/1.1 (${code})` : message || code);
}

const BOUNDED: ReadonlySet<string> = new Set([...Object.values(CAUSES), 'no answer in time']);

/** A cause as a label: other words may hold anything. */
export function boundedCause(cause: string): string {
  if (BOUNDED.has(cause)) return cause;
  return cause.startsWith('not HTTP/1.1') ? 'not HTTP/1.1' : 'other';
}
