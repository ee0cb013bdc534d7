import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createLimiter, type PolicyStore, type Store, StoreError, slidingWindow, tokenBucket } from 'comporta';
import { wire } from '../../packages/comporta/src/limiter/create.js';
import { FakeClock, flush } from '../support/fake-clock.js';
import { type Channel, runWorker } from '../support/worker.js';
import { openStore } from './clients.js';

export type LongOutageArgs =
  /** So many simulated minutes at so many decisions a second. */
  | { readonly kind: 'simulated'; readonly minutes: number; readonly perSecond: number }
  /** A real server behind a port; the test takes it away. */
  | { readonly kind: 'real'; readonly port: number; readonly seconds: number };

/** What the process holds at one moment, garbage not counted. */
export interface Held {
  readonly heapMb: number;
  readonly handles: number;
  readonly decisions: number;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function held(decisions: number): Held {
  collect();
  return {
    heapMb: process.memoryUsage().heapUsed / 1e6,
    handles: process.getActiveResourcesInfo().filter((name) => name !== 'Immediate').length,
    decisions,
  };
}

const limits = [
  slidingWindow({ limit: 5, window: '10s' }),
  tokenBucket({ capacity: 10, refill: 10, every: '1s' }),
] as const;

/** A cluster of four nodes that all refuse or, one of them, say nothing. */
function deadStore(): Store {
  const nothing = async (): Promise<void> => undefined;
  const dead = (subject: string): Promise<never> =>
    nodeOf(subject) === '10.0.0.0:1'
      ? new Promise(() => undefined)
      : Promise.reject(new StoreError('unavailable', 'connection refused', { isUnsent: true }));
  const nodeOf = (subject: string): string => `10.0.0.${subject.length % 4}:1`;
  const charged = async (): Promise<number> => 0;
  const policy: PolicyStore = {
    consume: dead,
    peek: dead,
    refund: charged,
    reset: charged,
    force: charged,
    shardOf: nodeOf,
  };
  return { kind: 'redis', bind: () => policy, ping: nothing, ready: nothing, close: nothing };
}

/** One measurement per simulated minute. */
async function simulate(minutes: number, perSecond: number): Promise<Held[]> {
  const clock = new FakeClock();
  const limiter = wire({ policy: 'p', limits, store: deadStore() }, clock);
  const seen: Held[] = [];
  let decisions = 0;
  for (let tick = 1; tick <= minutes * 600; tick++) {
    for (let i = 0; i < Math.floor(perSecond / 10); i++, decisions++) {
      // Half from a crowd that comes again, half never seen before.
      void limiter.decide(i % 2 === 0 ? `regular ${decisions % 50_000}` : `once ${decisions}`);
    }
    clock.advance(100);
    if (tick % 10 === 0) await flush();
    if (tick % 600 === 0) seen.push(held(decisions));
  }
  await limiter.close();
  return seen;
}

/** One measurement per second of the outage, the first before it. */
async function suffer(port: number, seconds: number, channel: Channel): Promise<Held[]> {
  const { store, close } = openStore('url', port);
  const limiter = createLimiter({ policy: 'p', limits, store });
  limiter.on('degraded', () => undefined);
  await store.ready(20_000);
  let decisions = 0;
  const load = async (ms: number): Promise<void> => {
    for (const endMs = performance.now() + ms; performance.now() < endMs; ) {
      for (let i = 0; i < 100; i++, decisions++) void limiter.decide(`s${decisions % 30_000}`);
      await flush();
    }
  };
  await load(1000);
  const seen = [held(decisions)];
  channel.send('loaded');
  await channel.receive();
  for (let second = 0; second < seconds; second++) {
    await load(1000);
    seen.push(held(decisions));
  }
  await limiter.close();
  await close();
  return seen;
}

runWorker((args: LongOutageArgs, channel: Channel) =>
  args.kind === 'simulated' ? simulate(args.minutes, args.perSecond) : suffer(args.port, args.seconds, channel),
);
