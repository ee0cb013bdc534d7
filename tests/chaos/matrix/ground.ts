import type { FaultProxy } from '../../support/proxy.js';
import type { Server } from '../../support/servers.js';

export type Topology = 'single' | 'sentinel' | 'cluster';
export const topologies: readonly Topology[] = ['single', 'sentinel', 'cluster'];

/** What Sentinels call the primary. */
export const PRIMARY_NAME = 'limits';

/** Where a client connects to; a proxy stands before every server. */
export interface Place {
  readonly topology: Topology;
  /** Of the server, of the Sentinels, or of the cluster's nodes. */
  readonly ports: readonly number[];
  /** From the address that a server has to the address of its proxy. */
  readonly natMap: Readonly<Record<string, string>>;
}

/** First and last slot. */
export type SlotRange = readonly [number, number];

/** Real servers with a proxy before each, one of which faults befall. */
export interface Ground {
  readonly place: Place;
  /** Server that faults befall: the primary, or one of three. */
  readonly target: Server;
  readonly proxy: FaultProxy;
  proxyOf(server: Server): FaultProxy;
  readonly proxies: readonly FaultProxy[];
  /** Slots of the target; none unless it is a cluster. */
  readonly slots: readonly SlotRange[];
  /** Mends what is broken and empties everything; `awaitsFailover` when a failover is to come. */
  prepare(awaitsFailover: boolean): Promise<void>;
  /** Resolves when a client can learn that another server took over from the target. */
  promoted(): Promise<void>;
  /** Swaps the roles of the target and its replica; without a replica it turns read-only. */
  demote(): Promise<unknown>;
  /** Servers that hold data now. */
  primaries(): Promise<readonly Server[]>;
  /** Moves slots from the target to another primary, one after the other. */
  moveSlots(slots: SlotRange): Promise<void>;
  close(): Promise<void>;
}

export async function empty(servers: readonly Server[]): Promise<void> {
  await Promise.all(servers.map((server) => server.command('FLUSHALL')));
}
