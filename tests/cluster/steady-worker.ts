import type { Limiter } from 'comporta';
import { sleep } from '../support/wait.js';
import { type Channel, runWorker } from '../support/worker.js';
import { LoopWatch, stalledMs } from './loop-watch.js';
import { monotonicUs } from './monotonic.js';
import { chargesOf, type DegradedCall, type SteadyArgs, type SteadyLog, steadyLimiter } from './steady.js';

// Keeps requests in flight until it is told to stop.
runWorker(work);

async function work(args: SteadyArgs, channel: Channel): Promise<SteadyLog> {
  const parts = args.policies.map((policy) => steadyLimiter(policy, args.url, args.timeoutMs));
  for (const { limiter } of parts) {
    for (const subject of args.subjects) await chargesOf(limiter, subject);
  }
  const state = { stopped: false };
  const logs = parts.map(({ limiter }) => load(limiter, args, state));
  channel.send('running');
  await channel.receive();
  state.stopped = true;
  const all = await Promise.all(logs);
  for (const part of parts) await part.close();
  return {
    calls: all.reduce((total, { calls }) => total + calls, 0),
    allowed: new Map(all.flatMap(({ allowed }) => [...allowed])),
    refused: all.reduce((total, { refused }) => total + refused, 0),
    degraded: all.flatMap(({ degraded }) => degraded),
    tookMs: Float64Array.from(all.flatMap(({ tookMs }) => tookMs)),
  };
}

async function load(
  limiter: Limiter,
  { subjects, inFlight, restMs }: SteadyArgs,
  state: { readonly stopped: boolean },
) {
  const log = {
    calls: 0,
    refused: 0,
    allowed: new Map<string, number>(),
    degraded: [] as DegradedCall[],
    tookMs: [] as number[],
  };
  const watch = new LoopWatch();
  const loop = async (_: unknown, index: number): Promise<void> => {
    while (!state.stopped) {
      const subject = subjects[(index + log.calls) % subjects.length] ?? '';
      const key = `${limiter.policy} ${subject}`;
      const startUs = monotonicUs();
      const { allowed, degraded } = await limiter.consume(subject);
      log.tookMs.push((monotonicUs() - startUs) / 1000);
      log.calls++;
      if (degraded !== undefined) {
        const { cause, detail } = degraded;
        watch.note();
        log.degraded.push({ key, cause, detail, stalledMs: stalledMs(watch.stalls, startUs, monotonicUs()) });
      }
      if (degraded === undefined && allowed) log.allowed.set(key, (log.allowed.get(key) ?? 0) + 1);
      if (degraded === undefined && !allowed) log.refused++;
      if (restMs > 0) await sleep(restMs);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  watch.stop();
  return log;
}
