import { createLimiter, type Decision, slidingWindow, tokenBucket } from 'comporta';
import { redisStore } from 'comporta/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installedKinds, type Server, startServer } from '../support/servers.js';
import { sleep } from '../support/wait.js';

const RATE = 50;
const SECONDS = 1.2;
const limits = tokenBucket({ capacity: RATE, refill: RATE, every: '1s' });
const patient = { onStoreFailure: 'closed', timeoutMs: 10_000 } as const;

type Two = [number, number];

/** On a busy machine answers take long, and a hold that is counted from the question is over soon. */
const BUSY = { retry: 2 } as const;

/** Scripts that a server ran since it was asked last. */
async function scriptsRun(server: Server): Promise<number> {
  const stats = String(await server.command('INFO', 'commandstats'));
  await server.command('CONFIG', 'RESETSTAT');
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

describe.each(installedKinds())('%s', (kind) => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer({ kind });
  });
  afterAll(() => server?.stop());

  test.each([
    [undefined, 0, 0.25],
    [false as const, 0.9, 1.1],
  ])(
    'five times the rate, with hold %s: the rate is kept, for so many calls a decision',
    BUSY,
    async (hold, least, most) => {
      const store = redisStore(server.url, { batch: false });
      await store.ready(30_000);
      const limiter = createLimiter({
        policy: `hold-${hold}`,
        limits,
        store,
        ...patient,
        ...(hold === undefined ? {} : { hold }),
      });
      await limiter.reset('hot');
      const emptyMs = performance.now();
      await limiter.charge('hot', RATE);
      await scriptsRun(server);
      const answers: (Decision | Promise<Decision>)[] = [];
      const startMs = performance.now();
      for (let i = 0; i < 5 * RATE * SECONDS; i++) {
        answers.push(limiter.decide('hot'));
        await sleep(Math.max(0, startMs + (i + 1) * (1000 / (5 * RATE)) - performance.now()));
      }
      const [seconds, sinceEmpty] = [startMs, emptyMs].map((since) => (performance.now() - since) / 1000) as Two;
      const decisions = await Promise.all(answers);
      const calls = (await scriptsRun(server)) / decisions.length;
      expect(calls).toBeGreaterThanOrEqual(least);
      expect(calls).toBeLessThanOrEqual(most);
      const admitted = decisions.filter(({ allowed }) => allowed).length;
      expect(admitted).toBeLessThanOrEqual(sinceEmpty * RATE + 1);
      expect(admitted).toBeGreaterThan(seconds * RATE * 0.85);
      await limiter.close();
      await store.close();
    },
  );

  test('what another process gives back is there after the hold', async () => {
    const [store, elsewhere] = [redisStore(server.url), redisStore(server.url)];
    await Promise.all([store.ready(30_000), elsewhere.ready(30_000)]);
    const options = { policy: 'shared', limits: slidingWindow({ limit: 1, window: '1h' }), ...patient };
    const limiter = createLimiter({ ...options, store, hold: '200ms' });
    const other = createLimiter({ ...options, store: elsewhere });
    const startMs = performance.now();
    expect((await limiter.consume('s')).allowed).toBe(true);
    await other.reset('s');
    const soon = limiter.decide('s');
    if (performance.now() - startMs < 150) expect(soon).toMatchObject({ allowed: false, reason: 'limit-exceeded' });
    await sleep(210);
    expect((await limiter.consume('s')).allowed).toBe(true);
    await Promise.all([limiter.close(), other.close()]);
    await Promise.all([store.close(), elsewhere.close()]);
  });
});
