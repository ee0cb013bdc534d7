import type { FaultProxy } from '../support/proxy.js';
import type { Server } from '../support/servers.js';

export interface Fault {
  readonly name: string;
  /** There before the client is made, as when a process starts before its Redis. */
  readonly fromStart?: boolean;
  /** How long at least; long enough in some to meet the longest pause between two attempts to connect. */
  readonly lastsMs?: number;
  /** Whether commands can get as far as the proxy while it lasts. */
  readonly reaches: boolean;
  begin(proxy: FaultProxy, server: Server): unknown;
  end(proxy: FaultProxy, server: Server): unknown;
}

const pass = (proxy: FaultProxy): Promise<void> => proxy.pass();

/** Everything that Redis, or the way to it, can do instead of answering. */
export const faults: readonly Fault[] = [
  { name: 'refuses connections', lastsMs: 1500, reaches: false, begin: (proxy) => proxy.down(), end: pass },
  { name: 'is not there yet', fromStart: true, reaches: false, begin: (proxy) => proxy.down(), end: pass },
  { name: 'is in a black hole', lastsMs: 1200, reaches: true, begin: (proxy) => proxy.blackhole(), end: pass },
  { name: 'is frozen', reaches: true, begin: (_, server) => server.freeze(), end: (_, server) => server.thaw() },
  { name: 'is behind a network that pauses', reaches: true, begin: (proxy) => proxy.hold(), end: pass },
  { name: 'does the work but its replies are lost', reaches: true, begin: (proxy) => proxy.dropReplies(), end: pass },
  { name: 'takes 200 ms', reaches: true, begin: (proxy) => proxy.delay(100), end: pass },
  {
    name: 'resets connections in the middle of a reply',
    reaches: true,
    begin: (proxy) => proxy.cutAfter(9),
    end: pass,
  },
];
