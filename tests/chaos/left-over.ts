import { monotonicUs } from '../cluster/monotonic.js';

/**
 * Handles that are still there a moment after everything was closed: a socket takes a few turns to go,
 * and a pause before the next attempt to connect is at most half a second.
 */
export async function leftOver(): Promise<string[]> {
  const endUs = monotonicUs() + 700_000;
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    const resources = process.getActiveResourcesInfo().filter((name) => name !== 'PipeWrap' && name !== 'Immediate');
    if (resources.length === 0 || monotonicUs() > endUs) return resources;
  }
}
