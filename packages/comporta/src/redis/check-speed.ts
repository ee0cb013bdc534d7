import { type Clock, steadyMs } from '../core/time.js';
import type { RedisNode } from './client.js';
import { fixFor, messageOf } from './explain.js';
import { type Finding, failure, ok, warning } from './finding.js';

const PINGS = 20;
const PINGS_TIME_MS = 2000;
const OFFSET_MAX_MS = 5000;

/** The promise's value, or a rejection after a while: a frozen server must not stop the self-test. */
export function withinMs<T>(clock: Clock, limitMs: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = clock.startTimer(limitMs, () => reject(new Error(`no answer within ${limitMs} ms`)));
    promise.then(resolve, reject).finally(stop);
  });
}

/** Round trips of some pings, one after the other, against the time limit of a decision. */
export async function checkSpeed(node: RedisNode, clock: Clock, timeoutMs: number): Promise<Finding> {
  const times: number[] = [];
  const endMs = steadyMs() + PINGS_TIME_MS;
  try {
    while (times.length < PINGS && steadyMs() < endMs) {
      const startMs = steadyMs();
      await withinMs(clock, PINGS_TIME_MS, node.send(['PING']));
      times.push(steadyMs() - startMs);
    }
  } catch (error) {
    return failure('speed', `PING: ${messageOf(error)}`, fixFor(messageOf(error)));
  }
  return judge(
    times.sort((a, b) => a - b),
    timeoutMs,
  );
}

function judge(sorted: readonly number[], timeoutMs: number): Finding {
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
  const [p50, p99] = [at(0.5), at(0.99)];
  const message = `round trip p50 ${shown(p50)}, p99 ${shown(p99)}; the time limit is ${timeoutMs} ms`;
  const fix = 'move closer to the server, or raise the time limit';
  if (p50 > timeoutMs) return failure('speed', `${message}: most decisions would not come from the store`, fix);
  if (p99 > timeoutMs / 2) return warning('speed', `${message}, which leaves little room`, fix);
  return ok('speed', message);
}

const shown = (ms: number): string => `${ms < 10 ? Math.ceil(ms * 10) / 10 : Math.ceil(ms)} ms`;

/** How far the server's clock is from ours. Decisions use the server's alone, so this only helps to read times. */
export async function checkClock(node: RedisNode, clock: Clock): Promise<Finding> {
  try {
    const before = clock.nowUs();
    const [seconds, micros] = (await withinMs(clock, PINGS_TIME_MS, node.send(['TIME']))) as [string, string];
    const serverUs = Number(seconds) * 1e6 + Number(micros);
    const offsetMs = Math.round((serverUs - (before + clock.nowUs()) / 2) / 1000);
    const isBehind = offsetMs < 0;
    const message = `the server's clock is ${Math.abs(offsetMs)} ms ${isBehind ? 'behind' : 'ahead of'} ours`;
    if (Math.abs(offsetMs) <= OFFSET_MAX_MS) return ok('clock', message);
    return warning('clock', `${message}; decisions use the server's`, 'set both clocks by NTP');
  } catch (error) {
    return failure('clock', `TIME: ${messageOf(error)}`, fixFor(messageOf(error)));
  }
}
