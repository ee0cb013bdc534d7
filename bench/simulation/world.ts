import { limitsOf } from '../../packages/comporta/src/limiter/plan.js';
import { type Chance, chanceOf } from './chance.js';
import { type EventLoop, inOwnTime } from './event-loop.js';
import { Fleet, type Policy } from './fleet.js';
import { type ServerSettings, SimulatedServer } from './server.js';

interface WorldSettings {
  readonly seed: number;
  readonly policies: readonly Policy[];
  readonly processes: number;
  /** More than one are a cluster. */
  readonly servers?: number;
  readonly slowdown?: number | undefined;
  readonly batch?: boolean | undefined;
  readonly onAdmitted?: ServerSettings['onAdmitted'];
}

/** Processes, servers, and the time that passes for them. */
export interface World {
  readonly loop: EventLoop;
  readonly chance: Chance;
  readonly servers: readonly SimulatedServer[];
  readonly fleet: Fleet;
}

/** Time in which the first connections are made. */
const CONNECTING_SECONDS = 0.05;

/** Makes a world, lets everybody connect, and plays. The same settings always come to the same. */
export function inWorld<T>(settings: WorldSettings, play: (world: World) => Promise<T>): Promise<T> {
  const { seed, policies, processes, servers: count = 1, slowdown = 1, batch = true, onAdmitted } = settings;
  return inOwnTime(seed, async (loop) => {
    const chance = chanceOf(seed + 1);
    const limits = limitsOf(policies[0]?.limits ?? [], 'limits');
    const make = () => new SimulatedServer({ loop, limits, slowdown, ...(onAdmitted && { onAdmitted }) });
    const servers = Array.from({ length: count }, make);
    const fleet = new Fleet({ loop, chance, servers, policies, batch });
    fleet.start(processes);
    await loop.pass(CONNECTING_SECONDS);
    return play({ loop, chance, servers, fleet });
  });
}

/** Commands that decide, take or give back; heartbeats left out. */
export const callsOf = ({ servers }: World): number =>
  servers.reduce((sum, { calls }) => sum + calls.consume + calls.consumeMany + calls.take + calls.refund, 0);

/** Share of its one processor that the busiest server used. */
export const loadOf = ({ servers }: World, seconds: number): number =>
  Math.max(...servers.map(({ busyUs }) => busyUs)) / (seconds * 1e6);
