import type { Degraded } from '../core/decision.js';
import type { Clock } from '../core/time.js';
import { REFUSALS } from './asker.js';

/** Shorter outages are not worth a line: a process that is just connecting, one slow answer. */
const QUIET_MS = 1000;

/** Says once that a node is away, and once that it is back, for applications that listen to no events. */
export class Notices {
  readonly #node: string;
  readonly #clock: Clock;
  readonly #say: (message: string) => void;
  #sinceMs: number | undefined;
  #lastMs = 0;
  #isTold = false;
  /** What the node last failed with: that it was not asked says nothing of why. */
  #reason: string | undefined;

  constructor(node: string, clock: Clock, say: (message: string) => void) {
    // Only nodes with an address are told apart; a store of one server is just the store.
    this.#node = node.includes(':') ? ` at ${node}` : '';
    this.#clock = clock;
    this.#say = say;
  }

  failed(policy: string, { mode, cause, detail }: Degraded): void {
    const nowMs = this.#clock.nowUs() / 1000;
    if (!(cause in REFUSALS)) this.#reason = `${cause}: ${detail}`;
    // Failures far apart are no outage.
    if (nowMs - this.#lastMs > QUIET_MS) this.#sinceMs = nowMs;
    this.#lastMs = nowMs;
    this.#sinceMs ??= nowMs;
    if (this.#isTold || nowMs - this.#sinceMs < QUIET_MS) return;
    this.#isTold = true;
    const what = cause === 'misconfigured' ? 'refuses calls' : 'does not answer';
    this.#say(
      `the store${this.#node} ${what}: mode ${mode} decides for policy ${policy} (${this.#reason ?? `${cause}: ${detail}`})`,
    );
  }

  /** The node answers, or another that took over from it. */
  recovered(): void {
    if (this.#isTold) this.#say(`${this.#node === '' ? 'the store' : `what was stored${this.#node}`} answers again`);
    this.#isTold = false;
    this.#sinceMs = undefined;
    this.#reason = undefined;
  }
}
