import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { pause, repeat, startTimer, stopTimer } from '../time.js';

/** How a server ends: goes on for `delayMs`, then takes nothing new and lets requests finish for at most `limitMs`. */
export interface Drain {
  readonly delayMs: number;
  readonly limitMs: number;
}

export const AT_ONCE: Drain = { delayMs: 0, limitMs: 0 };

/** So long idle connections stay open at least: a request may be on its way while the process is told to end. */
const IDLE_MS = 500;
const SWEEP_EVERY_MS = 50;

/**
 * Stops listening after the delay, closes connections as they fall idle, and cuts what is left after the limit. Whoever
 * calls it answers with `Connection: close` from then on, so that connections in use end with an answer.
 */
export async function drainServer(server: Server, { delayMs, limitMs }: Drain): Promise<void> {
  if (delayMs > 0 && server.listening) await pause(delayMs);
  await new Promise<void>((resolve) => {
    let stopSweep = (): void => undefined;
    // A connection whose response was under way stays open after it: sweep for those.
    const idle = startTimer(Math.max(0, IDLE_MS - delayMs), () => {
      stopSweep = repeat(SWEEP_EVERY_MS, () => server.closeIdleConnections());
      server.closeIdleConnections();
    });
    const limit = startTimer(limitMs, () => {
      server.closeAllConnections();
      finish();
    });
    const finish = (): void => {
      stopSweep();
      stopTimer(idle);
      stopTimer(limit);
      // Ends its checks of connections too.
      server.close();
      resolve();
    };
    // As http.Server closes, but for the idle connections, which it would close at once.
    NetServer.prototype.close.call(server, finish);
  });
}
