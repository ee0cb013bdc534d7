import {
  createLimiter,
  type Decision,
  type FailureMode,
  fixedWindow,
  type Limiter,
  slidingWindow,
  tokenBucket,
} from 'comporta';
import { redisStore } from 'comporta/redis';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LoopWatch, longestMs, stalledMs } from '../cluster/loop-watch.js';
import { monotonicUs } from '../cluster/monotonic.js';
import { percentile, timesText } from '../cluster/percentile.js';
import { type FaultProxy, type SeenCommand, startProxy } from '../support/proxy.js';
import { type Server, startServer } from '../support/servers.js';
import { sleep, until } from '../support/wait.js';
import { clientNames, type Opened, openStore } from './clients.js';

const TIMEOUT_MS = 50;
const SLACK_MS = 10;
const LIMIT = 5;
const WAVES = 5;
/** How late the proxy, which reads in this same process, may note a command on a busy machine. */
const PROXY_MS = 25;
const modes: readonly FailureMode[] = ['local', 'open', 'closed'];

/** What the matrix has not: a server that comes late, and a network that delivers late. */
const faults = [
  { name: 'is not there yet', fromStart: true, begin: () => proxy.down() },
  { name: 'is behind a network that pauses', fromStart: false, begin: () => proxy.hold() },
];

interface Call {
  readonly mode: FailureMode;
  readonly wave: number;
  readonly subject: string;
  readonly sentUs: number;
  readonly tookMs: number;
  readonly decision: Decision;
}

let server: Server;
let proxy: FaultProxy;
let opened: Opened | undefined;
let watch: LoopWatch;

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  await server.command('FLUSHALL');
  proxy = await startProxy(server);
  watch = new LoopWatch();
});
afterEach(async () => {
  watch.stop();
  await opened?.close();
  opened = undefined;
  await proxy.close();
});

const limiterOf = (mode: FailureMode, store: Opened['store']): Limiter =>
  createLimiter({ policy: mode, limits: slidingWindow({ limit: LIMIT, window: '1h' }), store, onStoreFailure: mode });

async function ask(limiter: Limiter, subject: string, wave = 0): Promise<Call> {
  const sentUs = monotonicUs();
  const decision = await limiter.consume(subject);
  return {
    mode: limiter.policy as FailureMode,
    wave,
    subject,
    sentUs,
    tookMs: (monotonicUs() - sentUs) / 1000,
    decision,
  };
}

/** Waits until the store decides; gives the time that took. */
async function decided(limiter: Limiter): Promise<number> {
  const startUs = monotonicUs();
  await until(async () => (await limiter.peek('anybody')).degraded === undefined, { what: 'the store', everyMs: 5 });
  return (monotonicUs() - startUs) / 1000;
}

/** In each wave every mode is asked for ten new subjects and twice for one that has to be limited. */
async function askInWaves(limiters: readonly Limiter[], lastsMs: number): Promise<Call[]> {
  const calls: Call[] = [];
  const endUs = monotonicUs() + lastsMs * 1000;
  for (let wave = 0; wave < WAVES || monotonicUs() < endUs; wave++) {
    const subjects = [...Array.from({ length: 10 }, (_, i) => `new-${wave}-${i}`), 'hot', 'hot'];
    calls.push(...(await Promise.all(limiters.flatMap((limiter) => subjects.map((name) => ask(limiter, name, wave))))));
    if (wave >= WAVES) await sleep(20);
  }
  return calls;
}

function expectModeKept(calls: readonly Call[]): void {
  for (const { mode, decision } of calls) {
    expect(decision.degraded).toMatchObject({
      mode,
      cause: expect.stringMatching(/^(timeout|unavailable|breaker-open)$/),
    });
    expect(decision.degraded?.detail).not.toBe('');
  }
  // An outage costs a time limit once, and again only for the few that look whether it is over.
  const perWave = calls.filter(({ wave }) => wave === 0).length;
  expect(calls.slice(0, perWave).filter(({ decision }) => decision.degraded?.cause === 'breaker-open')).toEqual([]);
  const waited = calls.slice(perWave).filter(({ decision }) => decision.degraded?.cause === 'timeout');
  expect(waited.length).toBeLessThan(12);
  const of = (mode: FailureMode) => calls.filter((call) => call.mode === mode);
  expect(of('open').every(({ decision }) => decision.allowed)).toBe(true);
  for (const { decision } of of('closed'))
    expect(decision).toMatchObject({ allowed: false, reason: 'store-unavailable' });
  const [hot, fresh] = [true, false].map((isHot) => of('local').filter(({ subject }) => (subject === 'hot') === isHot));
  expect(hot?.map(({ decision }) => decision.allowed)).toEqual(hot?.map((_, i) => i < LIMIT));
  expect(fresh?.every(({ decision }) => decision.allowed)).toBe(true);
  expect(hot?.at(-1)?.decision).toMatchObject({ reason: 'limit-exceeded' });
}

const scriptCalls = (seen: readonly SeenCommand[], { mode, subject }: Call): SeenCommand[] =>
  seen.filter(
    ({ name, args }) =>
      name.startsWith('EVAL') && args.slice(2).some((key) => key.startsWith(`cmp1:{${subject}}:${mode}:`)),
  );

/** Commands that went out after their decision was given, or twice: either charges for nothing. */
function lateOrRepeated(calls: readonly Call[]): string[] {
  const seen = [...proxy.seen];
  return calls
    .filter(({ subject }) => subject !== 'hot')
    .flatMap((call) => {
      const sent = scriptCalls(seen, call);
      const endUs = call.sentUs + call.tookMs * 1000;
      // The proxy reads in this process too, so it may note a command a turn of the event loop late.
      const slackMs = PROXY_MS + stalledMs(watch.stalls, call.sentUs, endUs + 20_000);
      const late = sent.filter(({ atNs }) => Number(atNs / 1000n) > endUs + slackMs * 1000);
      return sent.length > 1 || late.length > 0
        ? [`${call.mode} ${call.subject}: ${sent.length}, ${late.length} late`]
        : [];
    });
}

/** No subject has more charges in Redis than it had calls, heard of or not. */
async function expectChargedOnce(calls: readonly Call[]): Promise<void> {
  const keys = (await server.command('KEYS', '*:sw')) as string[];
  const charges = await Promise.all(keys.map(async (key) => Number(await server.command('LLEN', key))));
  expect(keys).not.toEqual([]);
  keys.forEach((key, i) => {
    const of = calls.filter(({ mode, subject }) => key.startsWith(`cmp1:{${subject}}:${mode}:`));
    expect(charges[i], key).toBeLessThanOrEqual(of.length);
  });
}

describe.each(clientNames)('%s', (client) => {
  test.each(faults.map((fault) => [fault.name, fault] as const))(
    'Redis %s: every mode answers within the time limit, and Redis decides again soon after',
    async (_, fault) => {
      if (fault.fromStart) await fault.begin();
      opened = openStore(client, proxy.port);
      const limiters = modes.map((mode) => limiterOf(mode, (opened as Opened).store));
      const healthy: Call[] = [];
      if (!fault.fromStart) {
        for (const limiter of limiters) {
          await decided(limiter);
          healthy.push(await ask(limiter, 'healthy'));
        }
      }
      if (!fault.fromStart) await fault.begin();
      const calls = await askInWaves(limiters, 300);
      const ends = proxy.pass();
      const recoveryMs = await decided(limiters[0] as Limiter);
      await ends;
      for (const limiter of limiters) await decided(limiter);

      const tookMs = calls.map((call) => call.tookMs);
      console.log(
        `${client}, Redis ${fault.name}: ${calls.length} calls in ${timesText(tookMs)}, decided again after ` +
          `${recoveryMs.toFixed(0)} ms; longest standstill of this process ${longestMs(watch.stalls).toFixed(0)} ms`,
      );
      const running = calls.map(
        (call) => call.tookMs - stalledMs(watch.stalls, call.sentUs, call.sentUs + call.tookMs * 1000),
      );
      expect(percentile(running, 0.99)).toBeLessThan(TIMEOUT_MS + SLACK_MS);
      expectModeKept(calls);
      expect(lateOrRepeated(calls)).toEqual([]);
      if (fault.fromStart) expect(calls.flatMap((call) => scriptCalls(proxy.seen, call))).toEqual([]);
      expect(recoveryMs).toBeLessThan(2000);
      await until(() => server.command('PING'));

      proxy.forget();
      const after = await Promise.all(limiters.flatMap((limiter) => [1, 2, 3].map((i) => ask(limiter, `after-${i}`))));
      expect([...healthy, ...after].filter(({ decision }) => decision.degraded || !decision.allowed)).toEqual([]);
      expect(after.flatMap((call) => scriptCalls(proxy.seen, call))).toHaveLength(after.length);
      await expectChargedOnce([...healthy, ...calls, ...after]);
    },
  );

  test('a caller that gives up sooner is answered then', async () => {
    opened = openStore(client, proxy.port);
    const limiter = limiterOf('closed', opened.store);
    await decided(limiter);
    proxy.blackhole();
    for (const [options, cause] of [
      [{ timeoutMs: 10 }, 'timeout'],
      [{ signal: AbortSignal.timeout(10) }, 'aborted'],
      [{ signal: AbortSignal.abort() }, 'aborted'],
    ] as const) {
      const startUs = monotonicUs();
      const decision = await limiter.consume('hasty', options);
      const tookMs = (monotonicUs() - startUs) / 1000;
      expect(decision).toMatchObject({ allowed: false, degraded: { cause } });
      expect(tookMs - stalledMs(watch.stalls, startUs, monotonicUs())).toBeLessThan(30);
    }
    await proxy.pass();
  });

  test('three limits of a policy are one command', async () => {
    opened = openStore(client, proxy.port);
    const limits = [
      slidingWindow({ limit: 9, window: '1h' }),
      tokenBucket({ capacity: 9, refill: 1, every: '1h' }),
      fixedWindow({ limit: 9, window: '1d' }),
    ];
    const limiter = createLimiter({ policy: 'three', limits, store: opened.store });
    await decided(limiter);
    await limiter.consume('a');
    proxy.forget();
    for (let i = 0; i < 5; i++) expect((await limiter.consume('a')).degraded).toBeUndefined();
    expect(proxy.seen.map(({ name }) => name)).toEqual(Array(5).fill('EVALSHA'));
  });
});

test('control: a client that resends by itself is warned of, and the same check notices what it does', async () => {
  const redis = new Redis({ host: '127.0.0.1', port: proxy.port, enableOfflineQueue: false, retryStrategy: () => 20 });
  redis.on('error', () => undefined);
  const warnings: string[] = [];
  const store = redisStore(redis, { onWarning: (text) => warnings.push(text) });
  opened = { store, close: async () => redis.disconnect() };
  expect(warnings).toEqual([expect.stringContaining('autoResendUnfulfilledCommands')]);
  const limiter = limiterOf('closed', store);
  await decided(limiter);
  proxy.dropReplies();
  const calls = await askInWaves([limiter], 0);
  await proxy.pass();
  await decided(limiter);
  await until(() => lateOrRepeated(calls).length > 0, { what: 'a command sent again' });
});
