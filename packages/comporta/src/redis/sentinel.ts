import type { Clock } from '../core/time.js';
import type { RedisClient } from './client.js';
import { type HostPort, splitAddress } from './connect-options.js';
import { fromNodeRedis, type NodeRedisLike } from './node-redis.js';

/** A client of node-redis that has yet to connect. */
export type Connectable = NodeRedisLike & { connect(): Promise<unknown> };

export interface SentinelOptions {
  /** What the Sentinels call the primary. */
  readonly name: string;
  readonly sentinels: readonly Connectable[];
  /** A client for the server that is the primary now, yet to connect. */
  readonly toServer: (at: HostPort) => Connectable;
  readonly map: (address: string) => HostPort | undefined;
  readonly clock: Clock;
}

/** How often Sentinels are asked in quiet times; a failing call asks at once. */
const EVERY_MS = 500;
const ANSWER_MS = 1000;

/**
 * Follows the primary that Sentinels name. Every connection is a plain one, so all rules for those hold
 * here too: a call goes out at once or not at all, and none is ever sent twice.
 */
export function followSentinels(options: SentinelOptions): RedisClient {
  const follower = new Follower(options);
  return {
    isCluster: false,
    nodeOf: () => follower.current?.nodeOf(0),
    nodeAt: () => follower.current?.nodeOf(0),
    refresh: () => follower.ask(),
    warnings: [],
    lastError: () => follower.lastError(),
    close: () => follower.close(),
  };
}

class Follower {
  readonly #options: SentinelOptions;
  readonly #sentinels: readonly RedisClient[];
  #address = '';
  #fault: string | undefined;
  #isAsking = false;
  #isClosed = false;
  #stopTimer: () => void = () => undefined;
  current: RedisClient | undefined;

  constructor(options: SentinelOptions) {
    this.#options = options;
    this.#sentinels = options.sentinels.map((sentinel) => opened(sentinel, 'sentinel'));
    for (const sentinel of options.sentinels) sentinel.on('ready', () => this.ask());
    this.#schedule();
  }

  lastError(): string | undefined {
    if (this.current !== undefined) return this.current.lastError();
    const faults = this.#sentinels.map((sentinel) => sentinel.lastError());
    return this.#fault ?? faults.find((fault) => fault !== undefined);
  }

  /** Asks all Sentinels and moves to the primary that most of those that answer name. */
  ask(): void {
    if (this.#isAsking || this.#isClosed) return;
    this.#isAsking = true;
    this.#stopTimer();
    const answers = Promise.all(this.#sentinels.map((sentinel) => this.#primaryBy(sentinel)));
    void answers.then((addresses) => {
      this.#isAsking = false;
      if (this.#isClosed) return;
      this.#moveTo(this.#choose(addresses));
      this.#schedule();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer();
    await Promise.all([...this.#sentinels, this.current].map((client) => client?.close()));
  }

  #schedule(): void {
    this.#stopTimer = this.#options.clock.startTimer(EVERY_MS, () => this.ask());
  }

  /** `host:port` as one Sentinel says; `undefined` when it does not answer or does not know. */
  #primaryBy(sentinel: RedisClient): Promise<string | undefined> {
    const node = sentinel.nodeOf(0);
    if (node?.isReady() !== true) return Promise.resolve(undefined);
    const { clock, name } = this.#options;
    return new Promise((resolve) => {
      const stop = clock.startTimer(ANSWER_MS, () => resolve(undefined));
      const asked = node.send(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name]);
      const read = (reply: unknown) => {
        if (!Array.isArray(reply)) this.#fault = `the Sentinels know no primary named "${name}"`;
        resolve(Array.isArray(reply) ? reply.join(':') : undefined);
      };
      const note = (error: Error) => {
        this.#fault = error.message;
        resolve(undefined);
      };
      asked.then(read, note).finally(stop);
    });
  }

  /**
   * The address that most name. While the primary is out of reach one vote for another is enough: the
   * Sentinel that led the failover knows first, and a server that takes no writes is left again.
   */
  #choose(addresses: readonly (string | undefined)[]): string | undefined {
    const isLost = this.current?.nodeOf(0)?.isReady() !== true;
    const other = addresses.find((address) => address !== undefined && address !== this.#address);
    return isLost && other !== undefined ? other : mostNamed(addresses);
  }

  #moveTo(address: string | undefined): void {
    if (address === undefined || address === this.#address) return;
    const before = this.current;
    this.#address = address;
    this.current = opened(this.#options.toServer(this.#options.map(address) ?? splitAddress(address)), address);
    void before?.close();
  }
}

/** A connection that keeps trying by itself; until then its node is not ready. */
function opened(client: Connectable, address: string): RedisClient {
  const made = fromNodeRedis(client);
  const node = made.nodeOf(0);
  client.connect().catch(() => undefined);
  const named = node && { ...node, address };
  return { ...made, nodeOf: () => named, nodeAt: () => named };
}

function mostNamed(addresses: readonly (string | undefined)[]): string | undefined {
  const votes = new Map<string, number>();
  for (const address of addresses) if (address !== undefined) votes.set(address, (votes.get(address) ?? 0) + 1);
  return [...votes].sort(([, a], [, b]) => b - a)[0]?.[0];
}
