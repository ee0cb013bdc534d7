import { wire } from '../limiter/create.js';
import type { Limiter, LimiterOptions } from '../limiter/limiter.js';
import { FakeClock } from './fake-clock.js';

/** As `createLimiter` takes them, but the policy may have no name (`test`), and the clock can be one of yours. */
export type TestLimiterOptions = Omit<LimiterOptions, 'policy'> & {
  readonly policy?: string;
  readonly clock?: FakeClock;
};

/**
 * Makes a limiter whose time is moved by hand: its counts, time limits, waits and breakers follow `clock`.
 * A store of yours has a clock of its own: hand both the same one. Throws as `createLimiter` does.
 */
export function testLimiter(options: TestLimiterOptions): { readonly limiter: Limiter; readonly clock: FakeClock } {
  const { policy = 'test', clock = new FakeClock(), ...others } = options;
  return { limiter: wire({ policy, ...others }, clock), clock };
}
