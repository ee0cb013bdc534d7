import { Connection } from '../../support/connection.js';
import { sleep, until } from '../../support/wait.js';
import type { Ground, SlotRange, Topology } from './ground.js';

export interface Fault {
  readonly name: string;
  /** What it is, for the table's legend. */
  readonly about: string;
  /**
   * Whether the store can decide: not at all until the fault ends, not until a replica has taken over,
   * or all the time.
   */
  readonly effect: 'outage' | 'failover' | 'none';
  /** Where it makes sense; everywhere by default. */
  readonly only?: readonly Topology[];
  readonly lastsMs: number;
  /** Whether replies that prove that nothing ran are part of it, so that a command may be sent again. */
  readonly repeats?: boolean;
  /** Resolves once the fault holds. */
  begin(ground: Ground): unknown;
  /** Resolves once it is over. */
  end?(ground: Ground): unknown;
}

const LOADED_KEYS = 400;
const MOVED_SLOTS = 48;
const atPair: readonly Topology[] = ['sentinel', 'cluster'];
const pass = ({ proxy }: Ground): Promise<void> => proxy.pass();
const undoing = new WeakMap<Ground, Promise<unknown>>();

/** Slots that are moved while the load goes on. */
export const movingSlots = ({ slots }: Ground): SlotRange => {
  const [from] = slots.find(([first, last]) => last - first >= MOVED_SLOTS) ?? [0];
  return [from, from + MOVED_SLOTS - 1];
};

export const faults: readonly Fault[] = [
  {
    name: 'refused',
    about: 'connections are reset and new ones refused',
    effect: 'outage',
    lastsMs: 900,
    begin: ({ proxy }) => proxy.down(),
    end: pass,
  },
  {
    name: 'black-holed',
    about: 'everything sent either way is lost, connections stay open',
    effect: 'outage',
    lastsMs: 900,
    begin: ({ proxy }) => proxy.blackhole(),
    end: pass,
  },
  {
    name: 'frozen',
    about: 'the process is stopped by a signal; the kernel goes on accepting connections',
    effect: 'outage',
    lastsMs: 700,
    begin: ({ target }) => target.freeze(),
    end: ({ target }) => target.thaw(),
  },
  {
    name: 'killed, failover',
    about: 'the process is killed, a replica takes over',
    effect: 'failover',
    only: atPair,
    lastsMs: 0,
    repeats: true,
    begin: ({ target }) => target.kill(),
    end: (ground) => ground.promoted(),
  },
  {
    name: 'frozen, failover',
    about: 'the process is stopped and stays so, a replica takes over',
    effect: 'failover',
    only: atPair,
    lastsMs: 0,
    repeats: true,
    begin: ({ target }) => target.freeze(),
    end: (ground) => ground.promoted(),
  },
  {
    name: 'demoted',
    about: 'the server becomes a replica while it runs: READONLY, or MOVED in a cluster',
    effect: 'failover',
    lastsMs: 500,
    repeats: true,
    begin: (ground) => ground.demote(),
    end: (ground) =>
      ground.place.topology === 'single' ? ground.target.command('REPLICAOF', 'NO', 'ONE') : ground.promoted(),
  },
  {
    name: 'LOADING',
    about: 'the server reads its data back from disk and says so',
    effect: 'outage',
    lastsMs: 0,
    begin: beginLoading,
    end: (ground) => undoing.get(ground),
  },
  {
    name: 'script flush',
    about: 'SCRIPT FLUSH on every primary, every 100 ms',
    effect: 'none',
    lastsMs: 1000,
    repeats: true,
    begin: (ground) => {
      undoing.set(ground, flushFor(ground, 1000));
    },
    end: (ground) => undoing.get(ground),
  },
  {
    name: 'slow',
    about: 'every answer takes 200 ms',
    effect: 'outage',
    lastsMs: 900,
    begin: ({ proxy }) => proxy.delay(100),
    end: pass,
  },
  {
    name: 'reply lost',
    about: 'the server does the work, its replies are lost',
    effect: 'outage',
    lastsMs: 900,
    begin: ({ proxy }) => proxy.dropReplies(),
    end: pass,
  },
  {
    name: 'reply cut',
    about: 'connections are reset in the middle of a reply',
    effect: 'outage',
    lastsMs: 900,
    begin: ({ proxy }) => proxy.cutAfter(9),
    end: pass,
  },
  {
    name: 'full',
    about: 'OOM: maxmemory is reached and nothing is evicted',
    effect: 'outage',
    lastsMs: 700,
    begin: ({ target }) => target.command('CONFIG', 'SET', 'maxmemory', 1),
    end: ({ target }) => target.command('CONFIG', 'SET', 'maxmemory', 0),
  },
  {
    name: 'permission lost',
    about: 'the user loses the right to run scripts while connected: NOPERM',
    effect: 'outage',
    lastsMs: 700,
    begin: ({ target }) => target.command('ACL', 'SETUSER', 'default', '-eval', '-evalsha'),
    end: ({ target }) => target.command('ACL', 'SETUSER', 'default', '+@all'),
  },
  {
    name: 'resharding',
    about: `${MOVED_SLOTS} slots with live keys move to another primary, one after the other`,
    effect: 'none',
    only: ['cluster'],
    lastsMs: 0,
    repeats: true,
    begin: (ground) => {
      undoing.set(ground, ground.moveSlots(movingSlots(ground)));
    },
    end: (ground) => undoing.get(ground),
  },
];

/** A reload of data that is slowed down, during which the server answers LOADING. */
async function beginLoading(ground: Ground): Promise<void> {
  const { target } = ground;
  await target.command('DEBUG', 'POPULATE', LOADED_KEYS, 'ballast', 200);
  await target.command('CONFIG', 'SET', 'key-load-delay', 2000);
  await target.command('CONFIG', 'SET', 'loading-process-events-interval-bytes', 1024);
  const connection = await Connection.open(target.port);
  const reload = async (): Promise<void> => {
    await connection.command('DEBUG', 'RELOAD').finally(() => connection.close());
    await target.command('CONFIG', 'SET', 'key-load-delay', 0);
  };
  undoing.set(ground, reload());
  const isLoading = () =>
    target.command('PING').then(
      () => false,
      () => true,
    );
  await until(isLoading, { what: 'LOADING', everyMs: 2 });
}

async function flushFor({ primaries }: Ground, ms: number): Promise<void> {
  const servers = await primaries();
  const endMs = performance.now() + ms;
  while (performance.now() < endMs) {
    await Promise.all(servers.map((server) => server.command('SCRIPT', 'FLUSH')));
    await sleep(100);
  }
}
