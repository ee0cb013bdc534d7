import { backOffMs } from '../../packages/comporta/src/redis/back-off.js';
import type { RedisClient, RedisNode } from '../../packages/comporta/src/redis/client.js';
import { ioredisPreset } from '../../packages/comporta/src/redis/ioredis-presets.js';
import { type Chance, logNormal } from './chance.js';
import type { EventLoop } from './event-loop.js';
import type { Link, SimulatedServer } from './server.js';

/** One way through the network: half of all messages take less, one in a hundred more than three times as long. */
const WAY_US = 200;
const WAY_SPREAD = 0.5;
const SLOTS = 16_384;

interface Network {
  readonly loop: EventLoop;
  readonly chance: Chance;
}

/** One connection of one process to one server. What is sent on it arrives in its order, as do the replies. */
class Connection implements RedisNode, Link {
  readonly address: string;
  readonly #server: SimulatedServer;
  readonly #owner: string;
  readonly #network: Network;
  readonly #owed: Set<(error: Error) => void> = new Set();
  #isReady = false;
  #attempts = 0;
  /** Counts connections, so that what comes late from an older one is known. */
  #generation = 0;
  #thereUs = 0;
  #backUs = 0;

  constructor(server: SimulatedServer, address: string, owner: string, network: Network) {
    this.#server = server;
    this.address = address;
    this.#owner = owner;
    this.#network = network;
    this.#connect();
  }

  isReady(): boolean {
    return this.#isReady;
  }

  send(command: readonly string[]): Promise<unknown> {
    const { loop } = this.#network;
    return new Promise((resolve, reject) => {
      this.#owed.add(reject);
      const answered = (reply: unknown): void => {
        if (!this.#owed.delete(reject)) return;
        if (reply instanceof Error) reject(reply);
        else resolve(reply);
      };
      this.#thereUs = Math.max(this.#thereUs, loop.nowUs() + this.#wayUs());
      loop.at(this.#thereUs, () => {
        this.#server.receive(command, this.#owner, (reply, doneUs) => {
          this.#backUs = Math.max(this.#backUs, doneUs + this.#wayUs());
          loop.at(this.#backUs, () => answered(reply));
        });
      });
    });
  }

  reconnect(): void {
    this.#end();
    this.#connect();
  }

  lost(): void {
    const { loop } = this.#network;
    const generation = this.#generation;
    loop.at(loop.nowUs() + this.#wayUs(), () => {
      if (generation !== this.#generation) return;
      this.#end();
      this.#connectLater();
    });
  }

  #end(): void {
    this.#isReady = false;
    this.#generation++;
    const owed = [...this.#owed];
    this.#owed.clear();
    for (const reject of owed) reject(new Error('Connection is closed.'));
  }

  #connectLater(): void {
    const generation = this.#generation;
    this.#network.loop.startTimer(backOffMs(this.#attempts++), () => {
      if (generation === this.#generation) this.#connect();
    });
  }

  /** A server that does not answer for so long is given up, as by the clients of the presets. */
  #connect(): void {
    const { loop } = this.#network;
    const generation = ++this.#generation;
    const soon = (ms: number, run: () => void): void => {
      loop.startTimer(ms + this.#wayUs() / 1000, () => {
        if (generation === this.#generation) run();
      });
    };
    soon(0, () => {
      const isTaken = this.#server.accept(this);
      if (isTaken === undefined) soon(ioredisPreset.connectTimeout, () => this.#connectLater());
      else if (isTaken) soon(this.#server.queueMs, () => this.#connected());
      else soon(0, () => this.#connectLater());
    });
  }

  #connected(): void {
    this.#isReady = true;
    this.#attempts = 0;
  }

  #wayUs(): number {
    return logNormal(WAY_US, WAY_SPREAD, this.#network.chance);
  }
}

/** The client of one process: a connection to each of the servers, which share the slots evenly. */
export class SimulatedClient implements RedisClient {
  readonly isCluster: boolean;
  readonly warnings: readonly string[] = [];
  readonly #nodes: readonly RedisNode[];

  constructor(servers: readonly SimulatedServer[], owner: string, network: Network) {
    this.isCluster = servers.length > 1;
    this.#nodes = servers.map((server, i) => new Connection(server, `server${i}:6379`, owner, network));
  }

  nodeOf(slot: number): RedisNode | undefined {
    return this.#nodes[Math.floor((slot * this.#nodes.length) / SLOTS)];
  }

  nodeAt(address: string): RedisNode | undefined {
    return this.#nodes.find((node) => node.address === address);
  }

  /** The slots never move. */
  refresh(): void {}

  lastError(): string | undefined {
    return undefined;
  }

  async close(): Promise<void> {}
}
