import type { RedisClient, RedisNode } from './client.js';
import { CONNECTING } from './starting.js';

/** What this package needs of Bun's `RedisClient`. */
export interface BunRedisLike {
  readonly connected: boolean;
  readonly bufferedAmount: number;
  send(command: string, args: string[]): Promise<unknown>;
  connect(): Promise<unknown>;
  close(): void;
}

/** Options of a client of Bun: fails at once instead of queueing, and never stops connecting. */
export interface BunPreset {
  readonly enableOfflineQueue: false;
  readonly enableAutoPipelining: true;
  readonly autoReconnect: true;
  readonly maxRetries: number;
  readonly connectionTimeout: number;
}

/** For `new RedisClient(url, bunPreset)`. */
export const bunPreset: BunPreset = {
  enableOfflineQueue: false,
  // Without it a call waits until the answer to the one before is there.
  enableAutoPipelining: true,
  autoReconnect: true,
  maxRetries: 2 ** 31 - 1,
  connectionTimeout: 1000,
};

/** A client of Bun as a {@link RedisClient}. It tells nothing of its options, so that none can be warned of. */
export function fromBun(client: BunRedisLike): RedisClient {
  let fault: string | undefined = CONNECTING;
  let isConnecting = false;
  const settle = (why: string | undefined) => {
    isConnecting = false;
    fault = why;
  };
  const connect = (): void => {
    if (isConnecting) return;
    isConnecting = true;
    client.connect().then(
      () => settle(undefined),
      (error: Error) => settle(error.message),
    );
  };
  const node: RedisNode = {
    address: 'redis',
    isReady: () => {
      // It gives up for good after a first attempt that failed, and after `maxRetries`. While it tries itself,
      // this joins that attempt. A connection without calls keeps no process alive.
      if (!client.connected) connect();
      return client.connected;
    },
    send: ([name = '', ...args]) => client.send(name, args),
    reconnect: () => {
      client.close();
      isConnecting = false;
      connect();
    },
  };
  return {
    isCluster: false,
    nodeOf: () => node,
    nodeAt: () => node,
    refresh: () => undefined,
    warnings: [],
    lastError: () => fault,
    close: async () => client.close(),
  };
}
