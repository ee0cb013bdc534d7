import { createLimiter, type Limiter, slidingWindow } from 'comporta';
import { LoopWatch, stalledMs } from '../../cluster/loop-watch.js';
import { monotonicUs } from '../../cluster/monotonic.js';
import { until } from '../../support/wait.js';
import { type Channel, runChild } from '../child-body.js';
import { leftOver } from '../left-over.js';
import { type Call, LIMIT, type Load, type LoadArgs, modes, TIMEOUT_MS } from './call.js';
import { open } from './clients.js';
import { Subjects } from './subjects.js';

/** How long it waits for the store after the fault, and goes on when it is back. */
const GIVE_UP_MS = 6000;
const AFTER_MS = 200;

type Noted = Omit<Call, 'stalledMs'>;

await runChild(async (args: LoadArgs, channel: Channel): Promise<Load> => {
  const { store, end } = await open(args.client, args.place);
  const limits = slidingWindow({ limit: LIMIT, window: '1h' });
  const limiters = modes.map((mode) => {
    const alone = mode === 'local' && { instances: 1 };
    return createLimiter({ policy: mode, limits, store, timeoutMs: TIMEOUT_MS, onStoreFailure: mode, ...alone });
  });
  const subjects = new Subjects(args.slots);
  await warmUp(limiters, args);
  const calls: Promise<Noted>[] = [];
  const watch = new LoopWatch(1, 4);
  let endedUs = Number.POSITIVE_INFINITY;
  const back = new Set<string>();
  const ask = async (limiter: Limiter, subject: string, isHealthy: boolean): Promise<Noted> => {
    const sentUs = monotonicUs();
    const { allowed, reason, degraded } = await limiter.consume(subject);
    const tookMs = (monotonicUs() - sentUs) / 1000;
    const mode = limiter.policy as Noted['mode'];
    if (degraded === undefined && !isHealthy && sentUs > endedUs) back.add(mode);
    const isHot = subject === subjects.hot;
    const degradation = { cause: degraded?.cause, degradedMode: degraded?.mode, detail: degraded?.detail };
    return { mode, subject, isHot, isHealthy, sentUs, tookMs, allowed, reason, ...degradation };
  };
  // Not both in one turn: the time of the one would be counted for the other.
  const askAll = (isHealthy: boolean, turn: number): void => {
    const subject = !isHealthy && turn % 8 === 7 ? subjects.hot : subjects.next(isHealthy);
    for (const limiter of limiters) calls.push(ask(limiter, subject, isHealthy));
  };
  const kinds = args.place.topology === 'cluster' ? [false, true] : [false];
  let turns = 0;
  const timer = setInterval(() => {
    askAll(kinds[turns % kinds.length] === true, Math.floor(turns / kinds.length));
    turns++;
  }, args.everyMs / kinds.length);
  channel.send('running');
  await channel.receive();
  endedUs = monotonicUs();
  await until(() => back.size === modes.length || monotonicUs() > endedUs + GIVE_UP_MS * 1000);
  await new Promise((resolve) => setTimeout(resolve, AFTER_MS));
  clearInterval(timer);
  const noted = await Promise.all(calls);
  const stalls = watch.stop();
  for (const limiter of limiters) await limiter.close();
  await store.close();
  await end();
  return {
    calls: noted.map((call) => ({
      ...call,
      stalledMs: stalledMs(stalls, call.sentUs, call.sentUs + call.tookMs * 1000),
    })),
    leftOver: await leftOver(),
  };
});

/** Until the store decides everywhere and every server knows the script. */
async function warmUp(limiters: readonly Limiter[], { place }: LoadArgs): Promise<void> {
  const subjects = Array.from({ length: place.topology === 'cluster' ? 24 : 1 }, (_, i) => `warm-${i}`);
  for (const limiter of limiters) {
    for (const subject of subjects) {
      const isDecided = async () => (await limiter.consume(subject)).degraded === undefined;
      await until(isDecided, { what: 'a decision of the store', everyMs: 50 });
    }
  }
}
