import { comportaStore as expressStore } from 'comporta/express-rate-limit';
import { FakeClock } from 'comporta/testing';

export const WINDOW_MS = 60_000;
export const nowMs = (clock: FakeClock): number => Math.floor(clock.nowUs() / 1000);

/** What the middleware does with a store, without the middleware. */
export function started(
  given: Parameters<typeof expressStore>[0] = {},
  plugin: Partial<Parameters<ReturnType<typeof expressStore>['init']>[0]> = {},
  make = expressStore,
) {
  const clock = new FakeClock();
  const store = make({ clock, ...given });
  store.init({ windowMs: WINDOW_MS, limit: 3, ...plugin });
  const hits = async (key: string, times: number): Promise<number[]> => {
    const totals: number[] = [];
    for (let i = 0; i < times; i++) totals.push((await store.increment(key)).totalHits);
    return totals;
  };
  return { clock, store, hits };
}
