import type { Clock } from '../core/time.js';
import { Asked, fieldsOf, type Question } from './asked.js';
import type { RedisClient } from './client.js';
import { type HostPort, splitAddress } from './connect-options.js';
import { lacksRight } from './explain.js';
import { fromNodeRedis, type NodeRedisLike } from './node-redis.js';

/** A client of node-redis that has yet to connect. */
export type Connectable = NodeRedisLike & { connect(): Promise<unknown> };

export interface SentinelOptions {
  /** What the Sentinels call the primary. */
  readonly name: string;
  readonly sentinels: readonly Connectable[];
  /** A client for a server that may be the primary, yet to connect. */
  readonly toServer: (at: HostPort) => Connectable;
  readonly map: (address: string) => HostPort | undefined;
  readonly clock: Clock;
}

/** How often everybody is asked: in quiet times, and while it is in doubt who the primary is. */
const QUIET_MS = 500;
const DOUBT_MS = 100;
/** A failed call makes doubt for so long. */
const DOUBT_LASTS_MS = 1000;
const SENTINEL_PATIENCE_MS = 1000;
const SERVER_PATIENCE_MS = 200;

/**
 * Follows the primary that Sentinels name. Every connection is a plain one, so all rules for those hold
 * here too: a call goes out at once or not at all, and none is ever sent twice.
 */
export function followSentinels(options: SentinelOptions): RedisClient {
  const follower = new Follower(options);
  const node = () => follower.current?.nodeOf(0);
  return {
    isCluster: false,
    nodeOf: node,
    nodeAt: node,
    refresh: () => follower.doubt(),
    warnings: [],
    lastError: () => follower.lastError(),
    close: () => follower.close(),
  };
}

type Role = 'primary' | 'replica';

/** HELLO tells the role, and every user may give it. */
const ROLE: Question<Role> = {
  command: ['HELLO'],
  read: (reply) => (fieldsOf(reply).get('role') === 'master' ? 'primary' : 'replica'),
  patienceMs: SERVER_PATIENCE_MS,
};

/** A server that is or may become the primary. */
interface Server {
  readonly asked: Asked<Role>;
  wasReplica: boolean;
  /** Became a primary while we watched, so it is a newer one than any before it. */
  wasPromoted: boolean;
}

interface Sentinel {
  readonly client: RedisClient;
  readonly primary: Asked<string>;
  readonly replicas: Asked<readonly string[]>;
}

/**
 * Sentinels learn of a promotion that one of them has ordered only up to a second after it, from the
 * promoted server itself. So while there is doubt that server is asked here as well.
 */
class Follower {
  readonly #options: SentinelOptions;
  readonly #sentinels: readonly Sentinel[];
  readonly #servers: Map<string, Server> = new Map();
  #currentAddress = '';
  #doubtUntilMs = 0;
  #isClosed = false;
  #stopTimer: () => void = () => undefined;

  constructor(options: SentinelOptions) {
    this.#options = options;
    const { name, clock } = options;
    this.#sentinels = options.sentinels.map((connectable) => {
      const client = opened(connectable, 'sentinel');
      connectable.on('ready', () => this.#tick());
      const primary = new Asked(client, primaryBy(name), clock);
      return { client, primary, replicas: new Asked(client, replicasOf(name), clock) };
    });
    this.#tick();
  }

  get current(): RedisClient | undefined {
    return this.#servers.get(this.#currentAddress)?.asked.client;
  }

  lastError(): string | undefined {
    if (this.current !== undefined) return this.current.lastError();
    const faults = [
      ...[...this.#servers.values()].map(({ asked }) => asked.client.lastError()),
      ...this.#sentinels.map(({ primary }) => primary.fault),
      ...this.#sentinels.map(({ client }) => client.lastError()),
    ];
    return faults.find((fault) => fault !== undefined);
  }

  /** A call has failed, and so may have the primary. */
  doubt(): void {
    this.#doubtUntilMs = this.#nowMs() + DOUBT_LASTS_MS;
    this.#tick();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer();
    const clients = [...this.#sentinels, ...[...this.#servers.values()].map(({ asked }) => asked)];
    await Promise.all(clients.map(({ client }) => client.close()));
  }

  /** Asks who may be asked; those are others in quiet times than in doubt. */
  #tick(): void {
    if (this.#isClosed) return;
    this.#stopTimer();
    for (const { primary, replicas } of this.#sentinels) {
      primary.ask(() => this.#learn());
      // A user without the right is told so once, not twice a second.
      if (!lacksRight(replicas.fault)) replicas.ask(() => undefined);
    }
    const isInDoubt = this.#isInDoubt();
    this.#watch(isInDoubt);
    this.#stopTimer = this.#options.clock.startTimer(isInDoubt ? DOUBT_MS : QUIET_MS, () => this.#tick());
  }

  /** Some Sentinel has answered: its word may begin a doubt. */
  #learn(): void {
    if (!this.#isClosed && this.#isInDoubt()) this.#watch(true);
  }

  #isInDoubt(): boolean {
    if (this.current?.nodeOf(0)?.isReady() !== true || this.#nowMs() < this.#doubtUntilMs) return true;
    return this.#sentinels.some(({ primary }) => (primary.answer ?? this.#currentAddress) !== this.#currentAddress);
  }

  /** Connects to every server in question and asks it; without doubt to the primary only. */
  #watch(isInDoubt: boolean): void {
    const wanted = new Set(isInDoubt ? this.#candidates() : []);
    wanted.add(this.#currentAddress);
    for (const [address, { asked }] of this.#servers) {
      if (wanted.has(address)) continue;
      this.#servers.delete(address);
      void asked.client.close();
    }
    if (!isInDoubt) return;
    for (const address of wanted) {
      if (address === '') continue;
      const server = this.#servers.get(address) ?? this.#connect(address);
      this.#servers.set(address, server);
      server.asked.ask(() => this.#judge(server));
    }
  }

  #candidates(): string[] {
    return this.#sentinels.flatMap(({ primary, replicas }) => [primary.answer ?? [], replicas.answer ?? []].flat());
  }

  #connect(address: string): Server {
    const { toServer, map, clock } = this.#options;
    const connectable = toServer(map(address) ?? splitAddress(address));
    const server: Server = {
      asked: new Asked(opened(connectable, address), ROLE, clock),
      wasReplica: false,
      wasPromoted: false,
    };
    connectable.on('ready', () => server.asked.ask(() => this.#judge(server)));
    return server;
  }

  /** Moves to the server that says itself that it is the primary, and that most Sentinels name or we saw promoted. */
  #judge(heard: Server): void {
    if (this.#isClosed) return;
    const { answer } = heard.asked;
    heard.wasPromoted = answer === 'primary' && (heard.wasPromoted || heard.wasReplica);
    if (answer !== undefined) heard.wasReplica = answer === 'replica';
    const votesFor = (address: string) => this.#sentinels.filter(({ primary }) => primary.answer === address).length;
    const rank = (address: string, { asked, wasPromoted }: Server) => {
      const votes = votesFor(address);
      if (asked.answer !== 'primary' || (votes === 0 && !wasPromoted)) return 0;
      return 2 * votes + (address === this.#currentAddress ? 2 : 1);
    };
    const ranked = [...this.#servers].map(([address, server]) => [address, rank(address, server)] as const);
    const [best, bestRank = 0] = ranked.sort(([, a], [, b]) => b - a)[0] ?? [];
    if (best !== undefined && bestRank > 0) this.#currentAddress = best;
  }

  #nowMs(): number {
    return this.#options.clock.nowUs() / 1000;
  }
}

const primaryBy = (name: string): Question<string> => ({
  command: ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name],
  read: (reply) => {
    if (Array.isArray(reply)) return reply.join(':');
    throw new Error(`the Sentinels know no primary named "${name}"`);
  },
  patienceMs: SENTINEL_PATIENCE_MS,
});

const replicasOf = (name: string): Question<readonly string[]> => ({
  command: ['SENTINEL', 'REPLICAS', name],
  read: (reply) => {
    const replicas = Array.isArray(reply) ? reply.map(fieldsOf) : [];
    return replicas.map((fields) => `${fields.get('ip')}:${fields.get('port')}`);
  },
  patienceMs: SENTINEL_PATIENCE_MS,
});

/** A connection that keeps trying by itself; until then its node is not ready. */
function opened(client: Connectable, address: string): RedisClient {
  const made = fromNodeRedis(client);
  const node = made.nodeOf(0);
  client.connect().catch(() => undefined);
  const named = node && { ...node, address };
  return { ...made, nodeOf: () => named, nodeAt: () => named };
}
