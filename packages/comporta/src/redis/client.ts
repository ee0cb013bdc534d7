import type { Script } from '../algorithms/compose.js';
import type { Waiter } from '../core/waiting.js';

/**
 * The seam between the Redis store and a client library. Routing, redirects and script reloads are
 * ours (see run.ts), because clients queue, wait and resend in ways that outlast a time limit.
 */
export interface RedisClient {
  /** False when one server holds every key: no slot is computed then. */
  readonly isCluster: boolean;
  /** The node that serves a slot as far as the client knows; `undefined` while it knows none. */
  nodeOf(slot: number): RedisNode | undefined;
  /** A node by `host:port` as servers name it in MOVED and ASK. */
  nodeAt(address: string): RedisNode | undefined;
  /** Asks for a new slot map in the background, not from the node at `failing` if there is another. */
  refresh(failing?: string): void;
  /** Settings of the client that break a promise, in words a person can act on. */
  readonly warnings: readonly string[];
  /** The form of a script that this server wants, where it differs; the same one for the same script. */
  dialect?(script: Script): Script;
  /** False where a call must not wait for what another began: requests are kept apart. */
  readonly joins?: boolean;
  /** Why there is no connection, when the client knows. */
  lastError(): string | undefined;
  close(): Promise<void>;
}

/** One connection to one server. */
export interface RedisNode {
  readonly address: string;
  /** True when a command given now is written now. Asking may start a connection in the background. */
  isReady(): boolean;
  /** Gives up the connection, with all that it owes, and makes another. */
  reconnect?(): void;
  /**
   * Sends one command, once. Rejects with the client's error; a server error's message starts with its prefix.
   * Nobody reads the reply once the waiter is over.
   */
  send(command: readonly string[], waiter?: Waiter): Promise<unknown>;
}
