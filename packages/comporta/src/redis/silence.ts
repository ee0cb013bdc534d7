import type { RedisNode } from './client.js';

/** A connection that owes an answer for so long is given up, though it still takes what is written. */
const SILENT_MS = 500;
/** A connection that is being made for so long is begun anew: servers and boxes between may swallow a greeting. */
const CONNECTING_MS = 3000;
/** Given up at most this often, so that a dead server is not flooded with connections. */
const AGAIN_MS = 1000;

/**
 * Gives up connections that lead nowhere. TCP notices a peer that is gone only after minutes, and never
 * if something between acknowledges for it; client libraries wait for TCP.
 */
export class SilenceWatch {
  readonly #owingSinceMs: Map<RedisNode, number> = new Map();
  readonly #downSinceMs: Map<RedisNode, number> = new Map();
  readonly #givenUpAtMs: WeakMap<RedisNode, number> = new WeakMap();

  /** A command was given to a connection that was ready. */
  sent(node: RedisNode, nowMs: number): void {
    if (!this.#owingSinceMs.has(node)) this.#owingSinceMs.set(node, nowMs);
    if (this.#downSinceMs.size > 0) this.#downSinceMs.delete(node);
  }

  /** Anything came back, or the client said that nothing will. */
  answered(node: RedisNode): void {
    this.#owingSinceMs.delete(node);
  }

  /** A command was not answered in time. */
  timedOut(node: RedisNode, nowMs: number): void {
    // A clock that stepped back: begin to wait anew.
    const sinceMs = Math.min(this.#owingSinceMs.get(node) ?? nowMs, nowMs);
    this.#owingSinceMs.set(node, sinceMs);
    if (nowMs - sinceMs >= SILENT_MS) this.#giveUp(node, nowMs);
  }

  /** A command could not be given, for there is no connection. */
  wasDown(node: RedisNode, nowMs: number): void {
    const sinceMs = Math.min(this.#downSinceMs.get(node) ?? nowMs, nowMs);
    this.#downSinceMs.set(node, sinceMs);
    if (nowMs - sinceMs >= CONNECTING_MS) this.#giveUp(node, nowMs);
  }

  #giveUp(node: RedisNode, nowMs: number): void {
    const atMs = this.#givenUpAtMs.get(node);
    if (atMs !== undefined && Math.abs(nowMs - atMs) < AGAIN_MS) return;
    this.#givenUpAtMs.set(node, nowMs);
    this.#owingSinceMs.delete(node);
    this.#downSinceMs.delete(node);
    node.reconnect?.();
  }
}
