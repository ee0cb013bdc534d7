import type { RedisNode } from './client.js';

/** A connection that owes an answer for so long is given up, though it still takes what is written ... */
const SILENT_MS = 500;
/** A connection that is being made for so long is begun anew: servers and boxes between may swallow a greeting. */
export const CONNECTING_MS = 3000;
/** Given up at most this often, so that a dead server is not flooded with connections. */
const AGAIN_MS = 1000;

/** ... or longer, while somebody waits longer: a server that is slow but answers must not lose its calls. */
interface Patience {
  readonly waitMs: number;
  /** Then the call that waits so long has ended. */
  readonly untilMs: number;
}

/** Since when a node owes an answer. */
interface Debt {
  sinceMs: number | undefined;
}

/**
 * Gives up connections that lead nowhere. TCP notices a peer that is gone only after minutes, and never
 * if something between acknowledges for it; client libraries wait for TCP.
 */
export class SilenceWatch {
  /** Changed in place, for every call begins and ends here. */
  readonly #debts: WeakMap<RedisNode, Debt> = new WeakMap();
  /** Some clients make a new one with every attempt to connect. */
  readonly #downSinceMs: WeakMap<RedisNode, number> = new WeakMap();
  #wasAnyDown = false;
  readonly #patience: WeakMap<RedisNode, Patience> = new WeakMap();
  readonly #givenUpAtMs: WeakMap<RedisNode, number> = new WeakMap();

  /** A command was given to a connection that was ready; somebody waits `waitMs` for its answer. */
  sent(node: RedisNode, nowMs: number, waitMs: number = SILENT_MS): void {
    this.#debtOf(node).sinceMs ??= nowMs;
    if (this.#wasAnyDown) this.#downSinceMs.delete(node);
    if (waitMs > SILENT_MS && waitMs >= this.#patienceMs(node, nowMs)) {
      this.#patience.set(node, { waitMs, untilMs: nowMs + waitMs });
    }
  }

  /** Anything came back, or the client said that nothing will. */
  answered(node: RedisNode): void {
    this.#debtOf(node).sinceMs = undefined;
  }

  /** A command was not answered in time. */
  timedOut(node: RedisNode, nowMs: number): void {
    // A clock that stepped back: begin to wait anew.
    const debt = this.#debtOf(node);
    const sinceMs = Math.min(debt.sinceMs ?? nowMs, nowMs);
    debt.sinceMs = sinceMs;
    this.#downSinceMs.delete(node);
    if (nowMs - sinceMs >= this.#patienceMs(node, nowMs)) this.#giveUp(node, nowMs);
  }

  /** A command could not be given, for there is no connection. */
  wasDown(node: RedisNode, nowMs: number): void {
    const sinceMs = Math.min(this.#downSinceMs.get(node) ?? nowMs, nowMs);
    this.#downSinceMs.set(node, sinceMs);
    this.#wasAnyDown = true;
    // What a lost connection owed, the next does not owe.
    this.answered(node);
    if (nowMs - sinceMs >= CONNECTING_MS) this.#giveUp(node, nowMs);
  }

  /** The longest that anybody waits whose call is under way. */
  #patienceMs(node: RedisNode, nowMs: number): number {
    const patience = this.#patience.get(node);
    if (patience === undefined) return SILENT_MS;
    // A wait longer than it ever was means that the clock stepped back.
    const leftMs = patience.untilMs - nowMs;
    return leftMs > 0 && leftMs <= patience.waitMs ? patience.waitMs : SILENT_MS;
  }

  #giveUp(node: RedisNode, nowMs: number): void {
    const atMs = this.#givenUpAtMs.get(node);
    if (atMs !== undefined && Math.abs(nowMs - atMs) < AGAIN_MS) return;
    this.#givenUpAtMs.set(node, nowMs);
    this.answered(node);
    this.#downSinceMs.delete(node);
    node.reconnect?.();
  }

  #debtOf(node: RedisNode): Debt {
    const known = this.#debts.get(node);
    if (known !== undefined) return known;
    const debt: Debt = { sinceMs: undefined };
    this.#debts.set(node, debt);
    return debt;
  }
}
