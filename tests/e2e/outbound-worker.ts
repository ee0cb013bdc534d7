import { createLimiter, tokenBucket } from 'comporta';
import { limitFetch } from 'comporta/outbound';
import { redisStore } from 'comporta/redis';
import { runWorker } from '../support/worker.js';

export interface OutboundArgs {
  readonly redis: string;
  readonly thirdParty: string;
  readonly requests: number;
}

/** One process of a fleet that uses a third party: all its requests at once. Statuses of the answers. */
runWorker(async ({ redis, thirdParty, requests }: OutboundArgs, channel): Promise<number[]> => {
  const store = redisStore(redis);
  await store.ready(10_000);
  const limits = tokenBucket({ capacity: 2, refill: 40, every: '1s' });
  const limiter = createLimiter({ policy: 'third-party', limits, store, timeoutMs: 2000, onStoreFailure: 'closed' });
  const limited = limitFetch(fetch, { limiter, maxWaitMs: 60_000 });
  channel.send('ready');
  await channel.receive();
  const send = async (): Promise<number> => {
    const response = await limited(thirdParty);
    await response.text();
    return response.status;
  };
  const statuses = await Promise.all(Array.from({ length: requests }, send));
  await limiter.close();
  await store.close();
  return statuses;
});
