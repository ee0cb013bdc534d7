import { selfView } from '../../support/cluster-view.js';
import { Connection } from '../../support/connection.js';
import type { Server } from '../../support/servers.js';
import { sleep } from '../../support/wait.js';
import type { Gate } from './gate.js';
import { type Ground, PASSWORD, unlock } from './ground.js';

/** What a life draws from its seed. */
export interface Chance {
  readonly below: (most: number) => number;
  /** Short ones more often. */
  ms(from: number, to: number): number;
}

export interface Target {
  readonly server: Server;
  readonly gate: Gate;
  readonly ground: Ground;
  readonly chance: Chance;
}

const isHeads = ({ chance }: Target): boolean => chance.below(2) === 0;

function lasting(most: number, begin: (target: Target) => unknown, end: (target: Target) => unknown) {
  return async (target: Target): Promise<string> => {
    const ms = target.chance.ms(50, most);
    await begin(target);
    await sleep(ms);
    await end(target);
    return `${ms} ms`;
  };
}

const passes = ({ gate }: Target) => Object.assign(gate, { fate: 'pass', delayMs: 0 });
const thaws = ({ server }: Target) => server.running && !server.responsive && server.thaw();

/** What may befall one server, by name. What fails has met another event: the mending undoes all. */
export const events: Readonly<Record<string, (target: Target) => unknown>> = {
  killed: lasting(
    3000,
    ({ server }) => server.kill(),
    ({ server }) => server.running || server.start(),
  ),
  frozen: lasting(5000, ({ server }) => server.freeze(), thaws),
  'frozen, connections reset': lasting(
    5000,
    ({ server, gate }) => {
      server.freeze();
      gate.reset();
    },
    thaws,
  ),
  'connections reset': ({ gate }) => gate.reset(),
  'connections swallowed': ({ gate }) => gate.swallow(),
  'new connections swallowed': lasting(
    4000,
    ({ gate }) => {
      gate.fate = 'swallow';
      gate.reset();
    },
    passes,
  ),
  'everything swallowed': lasting(
    4000,
    ({ gate }) => {
      gate.fate = 'swallow';
      gate.swallow();
    },
    passes,
  ),
  'connections ended at once': lasting(
    4000,
    ({ gate }) => {
      gate.fate = 'end';
      gate.reset();
    },
    passes,
  ),
  delayed: lasting(
    4000,
    (target) => {
      target.gate.delayMs = target.chance.ms(5, 1500);
      if (isHeads(target)) target.gate.reset();
    },
    passes,
  ),
  'clients killed': ({ server }) => server.command('CLIENT', 'KILL', 'TYPE', 'normal'),
  'password set': lasting(
    4000,
    async ({ server, gate }) => {
      await server.command('CONFIG', 'SET', 'requirepass', PASSWORD);
      gate.reset();
    },
    ({ server }) => unlock(server),
  ),
  'no room for clients': async ({ server, gate, chance }) => {
    const connection = await Connection.open(server.port);
    await connection.command('CONFIG', 'SET', 'maxclients', 2);
    gate.reset();
    await sleep(chance.ms(50, 4000));
    await connection.command('CONFIG', 'SET', 'maxclients', 10_000).finally(() => connection.close());
  },
  'scripts flushed': ({ server }) => server.command('SCRIPT', 'FLUSH'),
  'all flushed': ({ server }) => server.command('FLUSHALL'),
  loading: async (target) => {
    const { server, gate, chance } = target;
    await server.command('DEBUG', 'POPULATE', 400, 'ballast', 200);
    await server.command('CONFIG', 'SET', 'key-load-delay', chance.ms(300, 6000));
    await server.command('CONFIG', 'SET', 'loading-process-events-interval-bytes', 1024);
    const connection = await Connection.open(server.port);
    const reload = connection.command('DEBUG', 'RELOAD').finally(() => connection.close());
    if (isHeads(target)) setTimeout(() => gate.reset(), chance.ms(5, 200));
    await reload;
  },
  'a replica': async ({ server, ground, chance }) => {
    if (ground.topology !== 'single') return;
    await server.command('REPLICAOF', '127.0.0.1', 1);
    await sleep(chance.ms(50, 4000));
    await server.command('REPLICAOF', 'NO', 'ONE');
  },
  failover: async ({ server, ground }) => {
    if (ground.topology === 'cluster' && (await selfView(server)).role === 'replica') {
      await server.command('CLUSTER', 'FAILOVER');
    }
  },
  'killed for long': ({ server, ground }) => ground.topology === 'cluster' && server.kill(),
  'frozen for long': ({ server, ground }) => ground.topology === 'cluster' && server.freeze(),
};
