import { createLimiter, type Decision, type Limiter, slidingWindow } from 'comporta';
import { redisStore } from 'comporta/redis';
import { describe, expect, test } from 'vitest';
import { installedKinds, startServer } from '../support/servers.js';
import { sleep } from '../support/wait.js';

const [AFTER, WITHIN_MS, LASTS_MS] = [3, 90, 120];
const SUBJECTS = 25;
const STEPS = 60;
/** Two readings of a server's clock inside one script, in whole ms, may differ by this. */
const BLUR_MS = 2;

/** What a server may know of a subject: until when it is blocked, and since when so many refusals count. */
interface State {
  readonly blockedUntilMs: number;
  readonly sinceMs: number;
  readonly refusals: number;
}

const CLEAN: State = { blockedUntilMs: 0, sinceMs: 0, refusals: 0 };

/** Sure, unsure at the very moment of the change, or sure that not. */
function isBefore(atMs: number, endMs: number): readonly boolean[] {
  if (Math.abs(atMs - endMs) <= BLUR_MS) return [true, false];
  return [atMs < endMs];
}

/** All that may be so after a refused question, with the reason that it gives. */
function refusedIn(state: State, atMs: number): readonly { readonly reason: string; readonly next: State }[] {
  return isBefore(atMs, state.blockedUntilMs).flatMap((isBlocked) => {
    if (isBlocked) return [{ reason: 'blocked', next: state }];
    const counts = state.refusals === 0 ? [false] : isBefore(atMs, state.sinceMs + WITHIN_MS);
    return counts.map((doesCount) => {
      const refusals = doesCount ? state.refusals + 1 : 1;
      if (refusals >= AFTER) return { reason: 'blocked', next: { ...CLEAN, blockedUntilMs: atMs + LASTS_MS } };
      return { reason: 'limit-exceeded', next: { ...CLEAN, sinceMs: doesCount ? state.sinceMs : atMs, refusals } };
    });
  });
}

/** Asks again and again after random pauses. The first question takes all that the limit has. */
async function askAll(limiter: Limiter, subject: string): Promise<Decision[]> {
  const asked: Decision[] = [];
  for (let step = 0; step < STEPS; step++) {
    asked.push(await limiter.consume(subject));
    await sleep(Math.random() < 0.8 ? Math.random() * 40 : Math.random() * 150);
  }
  return asked;
}

describe.each(installedKinds())('%s', (kind) => {
  test("blocks begin with the refusal that is one too many, last, and end, by the server's own clock", async () => {
    await using server = await startServer({ kind });
    const store = redisStore(server.url);
    await store.ready(30_000);
    const limits = slidingWindow({ limit: 1, window: '1h' });
    const blocks = { after: AFTER, within: WITHIN_MS, lasts: LASTS_MS };
    const limiter = createLimiter({ policy: 'p', limits, store, blocks, onStoreFailure: 'closed', timeoutMs: 10_000 });
    const histories = await Promise.all(Array.from({ length: SUBJECTS }, (_, i) => askAll(limiter, `s${i}`)));
    let begun = 0;
    let ended = 0;
    for (const [first, ...rest] of histories) {
      expect(first?.allowed).toBe(true);
      let states: readonly State[] = [CLEAN];
      let was: string | undefined;
      for (const { atUs, reason, retryAfterMs } of rest) {
        const atMs = atUs / 1000;
        const explained = states.flatMap((state) => refusedIn(state, atMs)).filter((each) => each.reason === reason);
        expect(explained.length, `${reason} at ${atMs}`).toBeGreaterThan(0);
        states = explained.map(({ next }) => next);
        if (reason === 'blocked') {
          const waits = states.map(({ blockedUntilMs }) => Math.abs(blockedUntilMs - atMs - (retryAfterMs ?? -1000)));
          expect(Math.min(...waits)).toBeLessThanOrEqual(BLUR_MS);
        }
        if (reason === 'blocked' && was !== 'blocked') begun++;
        if (reason !== 'blocked' && was === 'blocked') ended++;
        was = reason;
      }
    }
    expect(Math.min(begun, ended), 'histories without blocks prove nothing').toBeGreaterThan(SUBJECTS);
    await limiter.close();
    await store.close();
  });
});
