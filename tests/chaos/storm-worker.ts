import { createLimiter, slidingWindow } from 'comporta';
import { monotonicUs } from '../cluster/monotonic.js';
import { sleep } from '../support/wait.js';
import { type Channel, runWorker } from '../support/worker.js';
import { type ClientName, openStore } from './clients.js';

export interface StormArgs {
  readonly client: ClientName;
  readonly port: number;
}

/** Monotonic time at which the store decided again after the outage. */
export interface Storm {
  readonly backAtUs: number;
}

// Has requests all the time, before, during and after an outage.
runWorker(async ({ client, port }: StormArgs, channel: Channel): Promise<Storm> => {
  const { store, close } = openStore(client, port);
  const limiter = createLimiter({ policy: 'storm', limits: slidingWindow({ limit: 1_000_000, window: '1h' }), store });
  const ask = async (): Promise<boolean> => (await limiter.consume('s')).degraded === undefined;
  await store.ready(20_000);
  while (!(await ask())) await sleep(5);
  channel.send('ready');
  const outage = { isThere: false };
  void channel.receive().then(() => {
    outage.isThere = true;
  });
  // A busy machine makes late answers before and after: only the outage counts.
  while ((await ask()) || !outage.isThere) await sleep(5);
  while (!(await ask())) await sleep(5);
  const backAtUs = monotonicUs();
  await limiter.close();
  await close();
  return { backAtUs };
});
