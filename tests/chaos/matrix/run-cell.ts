import { LoopWatch, type Stall, stalledMs } from '../../cluster/loop-watch.js';
import { monotonicUs } from '../../cluster/monotonic.js';
import { sleep } from '../../support/wait.js';
import { type Child, startChild } from '../child.js';
import type { Call, Load, LoadArgs } from './call.js';
import { type Cell, nameOf } from './cells.js';
import { overcharged, sentWrongly } from './charges.js';
import { movingSlots } from './faults.js';
import { figuresOf, type Marks } from './figures.js';
import { type Found, type Missed, missedGoals } from './goals.js';
import type { Ground } from './ground.js';

export interface Outcome {
  readonly cell: Cell;
  /** `undefined` when it could not be measured. */
  readonly found: Found | undefined;
  readonly missed: readonly Missed[];
}

/** Load before the fault, which says what is normal. */
const BEFORE_MS = 400;
const ENDS_WITHIN_MS = 5000;

/** How often a cell is measured that misses goals of time only. */
const ATTEMPTS_MAX = 3;

/** Runs a cell on its ground; times are measured on machines that others use too, so they may be measured again. */
export async function runCell(cell: Cell, ground: Ground, attempt = 1): Promise<Outcome> {
  const outcome = await measure(cell, ground);
  const isFinal = attempt >= ATTEMPTS_MAX || !outcome.missed.every(({ isTime }) => isTime);
  return isFinal || outcome.missed.length === 0 ? outcome : runCell(cell, ground, attempt + 1);
}

async function measure(cell: Cell, ground: Ground): Promise<Outcome> {
  const { client, fault } = cell;
  const isFailover = fault.effect === 'failover';
  for (const proxy of ground.proxies) await proxy.pass();
  await ground.prepare(isFailover);
  const slots = fault.only?.join() === 'cluster' ? [movingSlots(ground)] : ground.slots;
  const args: LoadArgs = { client, place: ground.place, slots, everyMs: isFailover ? 4 : 2 };
  const child = startChild<Load>(new URL('./load-child.ts', import.meta.url), args);
  const watch = new LoopWatch(1, 4);
  try {
    await child.receive();
    await sleep(BEFORE_MS);
    const marks = await strike(cell, ground);
    child.send('ended');
    const { calls: heard, leftOver } = await child.result;
    const stalls = watch.stop();
    const calls = heard.map((call) => withProxyStalls(call, stalls));
    const seen = ground.proxies.flatMap((proxy) => proxy.seen);
    const sent = sentWrongly(calls, seen, stalls);
    const charged = await overcharged(await ground.primaries(), calls);
    const found: Found = {
      figures: figuresOf(calls, fault, marks),
      doubled: [...charged, ...(fault.repeats === true ? [] : sent.repeated)],
      late: sent.late,
      leftOver,
      ...(await endOf(child)),
    };
    return { cell, found, missed: missedGoals(cell, found) };
  } catch (error) {
    throw new Error(`${nameOf(cell)}: ${error instanceof Error ? error.message : error}`, { cause: error });
  } finally {
    watch.stop();
    child.kill();
    if (ground.target.running && !ground.target.responsive) ground.target.thaw();
  }
}

/** The proxies run in this process: while it stands still, answers wait in them. */
function withProxyStalls(call: Call, stalls: readonly Stall[]): Call {
  const here = stalledMs(stalls, call.sentUs, call.sentUs + call.tookMs * 1000);
  return { ...call, stalledMs: Math.max(call.stalledMs, here) };
}

async function strike({ fault }: Cell, ground: Ground): Promise<Marks> {
  await fault.begin(ground);
  const beginUs = monotonicUs();
  await sleep(fault.lastsMs);
  // The last moment at which the fault held for certain; a failover ends when it is heard of.
  const beforeUs = monotonicUs();
  await fault.end?.(ground);
  return { beginUs, endUs: fault.effect === 'outage' && fault.lastsMs > 0 ? beforeUs : monotonicUs() };
}

async function endOf(child: Child<Load>): Promise<Pick<Found, 'complaints' | 'endedAfterMs'>> {
  const ended = await Promise.race([child.ended, sleep(ENDS_WITHIN_MS)]);
  if (ended === undefined) return { complaints: [], endedAfterMs: Number.POSITIVE_INFINITY };
  const bad = ended.code === 0 ? [] : [`ended with ${ended.signal ?? ended.code}`];
  return { complaints: [...bad, ...ended.complaints], endedAfterMs: ended.afterMs };
}
