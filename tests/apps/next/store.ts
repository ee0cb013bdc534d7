import { redisStore } from 'comporta/redis';

declare global {
  var sharedStore: ReturnType<typeof redisStore> | undefined;
}

/** Next compiles this file once for each part of the application: they share one store, and one connection. */
globalThis.sharedStore ??= redisStore(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
export const store = globalThis.sharedStore;
