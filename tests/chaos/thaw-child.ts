import { createLimiter, slidingWindow } from 'comporta';
import { monotonicUs } from '../cluster/monotonic.js';
import { type Channel, runWorker } from '../support/worker.js';
import { type ClientName, openStore } from './clients.js';

export interface ThawArgs {
  readonly client: ClientName;
  readonly port: number;
  /** The wall clock jumps by so much while the process stands still, as when a machine image is restored. */
  readonly jumpMs: number;
}

/** What one request after the thaw got. */
export interface Thawed {
  readonly tookMs: number;
  readonly degraded: string | undefined;
}

runWorker(async ({ client, port, jumpMs }: ThawArgs, channel: Channel): Promise<Thawed[]> => {
  const { store, close } = openStore(client, port);
  const limiter = createLimiter({ policy: 'thaw', limits: slidingWindow({ limit: 10_000, window: '1h' }), store });
  await store.ready(5000);
  for (let i = 0; i < 20; i++) await limiter.consume('s');
  const realNow = Date.now;
  channel.send('ready');
  // Stands in the middle of calls while it is frozen.
  const frozen = limiter.consume('s');
  await channel.receive();
  Date.now = () => realNow() + jumpMs;
  const answers: Thawed[] = [];
  for (let i = 0; i < 200; i++) {
    const startUs = monotonicUs();
    const { degraded } = await limiter.consume('s');
    answers.push({ tookMs: (monotonicUs() - startUs) / 1000, degraded: degraded?.cause });
    if (degraded === undefined && i > 0) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await frozen;
  await limiter.close();
  await close();
  return answers;
});
