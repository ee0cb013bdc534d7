import { GlideClient, GlideClusterClient } from '@valkey/valkey-glide';
import { RedisClient } from 'bun';
import { bunPreset, glidePreset, redisStore } from 'comporta/redis';

/** Without casts: that this compiles is what users of these packages rely on. */
export async function openStores(): Promise<readonly string[]> {
  const addresses = [{ host: '127.0.0.1', port: 6379 }];
  const stores = [
    redisStore(await GlideClient.createClient({ addresses, ...glidePreset })),
    redisStore(await GlideClusterClient.createClient({ addresses, ...glidePreset })),
    redisStore(new RedisClient('redis://127.0.0.1:6379', bunPreset)),
  ];
  return stores.map(({ kind }) => kind);
}
