import { steadyMs, systemClock } from '../core/time.js';
import type { NodeRedisLike } from './node-redis.js';

/** Long enough for version 6 to notice that a greeting was cut off. */
const ENDED_MS = 20;
/** Longer than the client's own longest wait between two attempts. */
const WAITED_MS = 2500;
/** How long an attempt to connect may take, by the client's own default. */
const CONNECT_MS = 5000;

/**
 * Begins a client's connection anew, and only where it would hang for ever: the client does not end an
 * attempt that waits for its turn, so one more beside it would try for as long as the server is away.
 */
export class Connecting {
  readonly #client: NodeRedisLike;
  readonly #sinceMs: number = steadyMs();
  /** `undefined` before its first event: then it may have been given in the middle of a greeting. */
  #isGreeting: boolean | undefined;
  #isEnding = false;
  #stopTimer: () => void = () => undefined;

  constructor(client: NodeRedisLike) {
    this.#client = client;
    client.on('connect', () => {
      this.#isGreeting = true;
    });
    for (const event of ['ready', 'error', 'reconnecting']) {
      client.on(event, () => {
        this.#isGreeting = false;
      });
    }
    // After this event the client looks whether it was ended, and gives the attempt up.
    client.on('reconnecting', () => this.#isEnding && void Promise.resolve().then(() => this.#connect()));
  }

  restart(): void {
    const client = this.#client;
    // Closed, or not yet connected: that is for its owner to change. Attempts to connect have a timer.
    if (client.isOpen === false || !(client.isReady || this.#hangs())) return;
    const isUsed = client.isReady;
    this.#isGreeting = false;
    client.destroy();
    if (isUsed) this.#connect();
    else this.#connectSoon();
  }

  stop(): void {
    this.#isEnding = false;
    this.#stopTimer();
  }

  #hangs(): boolean {
    if (this.#isGreeting !== undefined) return this.#isGreeting;
    const { socket } = (this.#client.options ?? {}) as { readonly socket?: { readonly connectTimeout?: number } };
    return steadyMs() - this.#sinceMs > (socket?.connectTimeout ?? CONNECT_MS);
  }

  /** Version 5 takes the end of a greeting for a failed one, waits, and would go on beside a new attempt. */
  #connectSoon(): void {
    this.#isEnding = true;
    const delayMs = endsOnce(this.#client) ? WAITED_MS : ENDED_MS;
    this.#stopTimer = systemClock.startTimer(delayMs, () => this.#connect());
  }

  #connect(): void {
    this.stop();
    if (this.#client.isOpen !== true) this.#client.connect().catch(() => undefined);
  }
}

/** Whether an ended client will not be ended again, as in version 5. */
function endsOnce(client: NodeRedisLike): boolean {
  try {
    client.destroy();
    return false;
  } catch {
    return true;
  }
}

/** `destroy` overlooks a socket that is still connecting; such a client would go on and stay connected. */
export function endOnConnect(client: NodeRedisLike): void {
  client.on('connect', () => {
    // Version 5 ends no client twice: what it leaves open keeps no process alive.
    client.unref?.();
    client.destroy();
  });
}
