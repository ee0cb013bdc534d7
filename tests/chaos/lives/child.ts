import { createLimiter, fixedWindow, type Limiter } from 'comporta';
import { LoopWatch, stalledMs } from '../../cluster/loop-watch.js';
import { monotonicUs } from '../../cluster/monotonic.js';
import { type Channel, runChild } from '../child-body.js';
import { leftOver } from '../left-over.js';
import { kinds, type Opened, type Place, type Topology } from './kinds.js';

/** Long enough for a busy machine: what is looked for here lasts for ever. */
const TIMEOUT_MS = 200;
const EVERY_MS = 25;
const IN_FLIGHT_MAX = 20;
/** So many decisions of the store in a row are no chance. */
const ROW = 10;

export interface LivesArgs {
  readonly topology: Topology;
  readonly names: readonly string[];
}

export type Order =
  | { readonly what: 'open'; readonly index: number; readonly place: Place }
  | { readonly what: 'well' | 'report' | 'end' };

export interface Report {
  readonly name: string;
  /** Since all is well; `undefined` while the store does not decide. */
  readonly backAfterMs: number | undefined;
  /** Longest beyond the time limit, without what the process stood still. */
  readonly lateMs: number;
  /** Why the store did not decide last. */
  readonly detail: string;
}

/** What one client's decisions were like. */
class Life {
  readonly name: string;
  readonly opened: Opened;
  readonly #limiter: Limiter;
  readonly #watch: LoopWatch;
  readonly #timer: NodeJS.Timeout;
  #asked = 0;
  #inFlight = 0;
  #row = 0;
  #rowSinceUs = 0;
  #wellUs = Number.POSITIVE_INFINITY;
  #backAfterMs: number | undefined;
  #lateMs = 0;
  #detail = '';

  constructor(index: number, name: string, opened: Opened, watch: LoopWatch) {
    this.name = name;
    this.opened = opened;
    this.#watch = watch;
    const limits = fixedWindow({ limit: 5, window: '1h' });
    const options = { store: opened.store, timeoutMs: TIMEOUT_MS, onStoreFailure: 'open' as const };
    this.#limiter = createLimiter({ policy: `life${index}`, limits, ...options });
    this.#timer = setInterval(() => void this.#ask(), EVERY_MS);
  }

  well(): void {
    this.#wellUs = monotonicUs();
    if (this.#row >= ROW) this.#backAfterMs = 0;
  }

  report(): Report {
    return { name: this.name, backAfterMs: this.#backAfterMs, lateMs: this.#lateMs, detail: this.#detail };
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#limiter.close();
    await this.opened.store.close();
    await this.opened.end();
  }

  /** Each subject once, so that whatever is charged twice shows. */
  async #ask(): Promise<void> {
    if (this.#inFlight >= IN_FLIGHT_MAX) return;
    this.#inFlight++;
    const atUs = monotonicUs();
    const { degraded } = await this.#limiter.consume(`s${this.#asked++}`);
    this.#inFlight--;
    const endUs = monotonicUs();
    this.#watch.note();
    const tookMs = (endUs - atUs) / 1000 - stalledMs(this.#watch.stalls, atUs, endUs);
    this.#lateMs = Math.max(this.#lateMs, tookMs - TIMEOUT_MS);
    this.#detail = degraded?.detail ?? this.#detail;
    if (this.#row === 0) this.#rowSinceUs = atUs;
    this.#row = degraded === undefined ? this.#row + 1 : 0;
    if (this.#row === ROW && this.#wellUs !== Number.POSITIVE_INFINITY) {
      this.#backAfterMs ??= Math.max(0, (this.#rowSinceUs - this.#wellUs) / 1000);
    }
  }
}

await runChild(async ({ topology, names }: LivesArgs, channel: Channel): Promise<string[]> => {
  const lives: Life[] = [];
  const watch = new LoopWatch(1, 4);
  for (;;) {
    const order = await channel.receive<Order>();
    if (order.what === 'end') break;
    if (order.what === 'well') for (const life of lives) life.well();
    if (order.what === 'report') channel.send(lives.map((life) => life.report()));
    if (order.what !== 'open') continue;
    const name = names[order.index] ?? '';
    const opened = await kinds.find((kind) => kind.name === name)?.open(order.place, topology);
    if (opened !== undefined) lives.push(new Life(order.index, name, opened, watch));
  }
  watch.stop();
  for (const life of lives) await life.end();
  return leftOver();
});
