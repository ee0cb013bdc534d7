import { type ClientName, clientNames } from './clients.js';
import { type Fault, faults } from './faults.js';
import { type Topology, topologies } from './ground.js';

/** One combination to be measured. */
export interface Cell {
  readonly topology: Topology;
  readonly client: ClientName;
  readonly fault: Fault;
}

/** A combination that is left out, and why. */
interface Rule {
  readonly why: string;
  matches(cell: Cell): boolean;
}

export const rules: readonly Rule[] = [
  {
    why:
      'Sentinel with a client of node-redis: its `createSentinel` sends a command again after a failure, so ' +
      '`redisStore` refuses it; a `redis-sentinel://` URL does the same over plain connections of node-redis',
    matches: ({ topology, client }) => topology === 'sentinel' && client.startsWith('node-redis'),
  },
  {
    why: 'failovers of a single server: there is nobody to take over',
    matches: ({ topology, fault }) => topology === 'single' && fault.only?.includes('single') === false,
  },
  {
    why: 'resharding without a cluster: there are no slots',
    matches: ({ topology, fault }) => topology !== 'cluster' && fault.only?.join() === 'cluster',
  },
];

export const cells: readonly Cell[] = topologies
  .flatMap((topology) => clientNames.flatMap((client) => faults.map((fault) => ({ topology, client, fault }))))
  .filter((cell) => !rules.some((rule) => rule.matches(cell)));

export const nameOf = ({ topology, client, fault }: Cell): string => `${topology} · ${client} · ${fault.name}`;
