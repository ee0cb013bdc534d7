import type { Store } from 'comporta';
import { ioredisClusterPreset, redisStore } from 'comporta/redis';
import { Cluster as Ioredis } from 'ioredis';

/** A store on one of the two kinds of clients, and how to end both. */
export function openStore(url: string, isIoredis: boolean): { readonly store: Store; close(): Promise<void> } {
  if (!isIoredis) {
    const store = redisStore(url);
    return { store, close: () => store.close() };
  }
  const nodes = url
    .replace('redis-cluster://', '')
    .split(',')
    .map((address) => ({ host: '127.0.0.1', port: Number(address.split(':')[1]) }));
  const client = new Ioredis(nodes, ioredisClusterPreset);
  const store = redisStore(client);
  const close = async (): Promise<void> => {
    await store.close();
    client.disconnect();
  };
  return { store, close };
}

/** Random numbers that are the same in every run. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    // A step of mulberry32.
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
