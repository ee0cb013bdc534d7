import type { Server } from 'node:http';
import { repeat, startTimer, stopTimer } from '../time.js';

const SWEEP_EVERY_MS = 50;

/** Stops listening, closes connections as they fall idle, and cuts what is left after the limit. */
export function drainServer(server: Server, limitMs: number): Promise<void> {
  return new Promise((resolve) => {
    // A connection whose response was under way before the drain stays open after it: sweep for those.
    const stopSweep = repeat(SWEEP_EVERY_MS, () => server.closeIdleConnections());
    const timer = startTimer(limitMs, () => {
      server.closeAllConnections();
      finish();
    });
    const finish = (): void => {
      stopSweep();
      stopTimer(timer);
      resolve();
    };
    server.close(finish);
    server.closeIdleConnections();
  });
}
