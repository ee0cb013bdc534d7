import { createLimiter, slidingWindow } from 'comporta';
import { monotonicUs } from '../cluster/monotonic.js';
import { sleep } from '../support/wait.js';
import { type Channel, runChild } from './child-body.js';
import { type ClientName, openStore } from './clients.js';
import { leftOver } from './left-over.js';

export interface LifeArgs {
  readonly client: ClientName;
  readonly port: number;
  /** Calls made before the end, one every 10 ms. */
  readonly calls: number;
  /** Waits for the test and then for a decision of the store before the end. */
  readonly awaitStore: boolean;
  /** Calls that are still under way when everything is closed. */
  readonly atTheEnd: number;
}

export interface Life {
  readonly degraded: number;
  readonly decidedAtUs: number;
  /** What still kept the process alive after it had closed everything, apart from the test. */
  readonly resources: readonly string[];
}

await runChild(async (args: LifeArgs, channel: Channel): Promise<Life> => {
  const { store, close } = openStore(args.client, args.port);
  const limits = slidingWindow({ limit: 1000, window: '1h' });
  const limiter = createLimiter({ policy: 'life', limits, store, onStoreFailure: 'local' });
  let degraded = 0;
  let decidedAtUs = 0;
  for (let i = 0; i < args.calls; i++) {
    if ((await limiter.consume('a')).degraded !== undefined) degraded++;
    await sleep(10);
  }
  if (args.awaitStore) {
    channel.send({ degraded });
    await channel.receive();
    while ((await limiter.consume('a')).degraded !== undefined) await sleep(5);
    decidedAtUs = monotonicUs();
  }
  const open = Array.from({ length: args.atTheEnd }, () => limiter.consume('b'));
  await limiter.close();
  await close();
  await Promise.all(open);
  return { degraded, decidedAtUs, resources: await leftOver() };
});
