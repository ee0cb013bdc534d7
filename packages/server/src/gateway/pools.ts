import { Pool } from 'undici';

const CONNECT_TIMEOUT_MS = 5000;
/** Silence inside a response body that ends it: longer than the heartbeat of any event stream. */
const BODY_IDLE_MS = 300_000;
export const RESPONSE_HEADERS_MAX_BYTES = 65_536;

/** One pool of keep-alive connections per upstream origin; pools live on when a reload keeps their origin. */
export class Pools {
  readonly #pools: Map<string, Pool> = new Map();
  readonly #connections: number;

  constructor(connections: number) {
    this.#connections = connections;
  }

  of(origin: string): Pool {
    const pool = this.#pools.get(origin) ?? this.#open(origin);
    this.#pools.set(origin, pool);
    return pool;
  }

  /** Ends the pools of origins that are not in use any more, each after its last request. */
  keepOnly(origins: ReadonlySet<string>): void {
    for (const [origin, pool] of this.#pools) {
      if (origins.has(origin)) continue;
      this.#pools.delete(origin);
      pool.close().catch(() => undefined);
    }
  }

  /** Ends everything at once. */
  async close(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.allSettled(pools.map((pool) => pool.destroy()));
  }

  #open(origin: string): Pool {
    return new Pool(origin, {
      connections: this.#connections,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      // The wait for headers is timed per route, from the arrival of the request.
      headersTimeout: 0,
      bodyTimeout: BODY_IDLE_MS,
      maxHeaderSize: RESPONSE_HEADERS_MAX_BYTES,
    });
  }
}
