import type { Store } from 'comporta';
import { ioredisPreset, redisStore } from 'comporta/redis';
import { Redis } from 'ioredis';

/** `cluster` takes the port of any node of one. */
export type ClientName = 'url' | 'ioredis' | 'cluster';
export const clientNames: readonly ClientName[] = ['url', 'ioredis'];

export interface Opened {
  readonly store: Store;
  close(): Promise<void>;
}

/** A store on one server; it connects in the background. */
export function openStore(client: ClientName, port: number): Opened {
  if (client !== 'ioredis') {
    const store = redisStore(`${client === 'url' ? 'redis' : 'redis-cluster'}://127.0.0.1:${port}`);
    return { store, close: () => store.close() };
  }
  const redis = new Redis({ host: '127.0.0.1', port, ...ioredisPreset });
  redis.on('error', () => undefined);
  const store = redisStore(redis);
  return {
    store,
    close: async () => {
      await store.close();
      redis.disconnect();
    },
  };
}
