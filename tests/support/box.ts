import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket, type Server as TcpServer } from 'node:net';

/** What becomes of a connection. */
export type Fate =
  | 'pass'
  /** Taken; nothing that is sent either way arrives, and it stays open. */
  | 'swallow'
  /** Taken and ended at once, as by a balancer without servers. */
  | 'end';

/** Stands before a server and decides of each connection by itself, so that one may be lost while others work. */
export class Box {
  /** Of connections to come. */
  fate: Fate = 'pass';
  delayMs = 0;
  /** How many were ever taken. */
  taken = 0;
  port = 0;
  readonly #target: number;
  readonly #listener: TcpServer;
  readonly #open: Set<Socket> = new Set();
  readonly #swallowed: WeakSet<Socket> = new WeakSet();

  /** Use {@link startBox}. */
  constructor(target: number) {
    this.#target = target;
    this.#listener = createServer({ noDelay: true }, (client) => this.#take(client));
  }

  /** How many are open now. */
  get open(): number {
    // One that is reset while it is taken never says that it is closed.
    return [...this.#open].filter((client) => !client.destroyed).length;
  }

  async listen(port = 0): Promise<void> {
    this.#listener.listen(port, '127.0.0.1');
    await once(this.#listener, 'listening');
    this.port = (this.#listener.address() as AddressInfo).port;
  }

  /** The connections that are open stay so, and nothing arrives any more. */
  swallow(): void {
    for (const client of this.#open) this.#swallowed.add(client);
  }

  reset(): void {
    for (const client of this.#open) client.resetAndDestroy();
  }

  close(): void {
    this.reset();
    this.#listener.close();
  }

  #take(client: Socket): void {
    this.taken++;
    if (this.fate === 'end') {
      client.destroy();
      return;
    }
    this.#open.add(client);
    if (this.fate === 'swallow') this.#swallowed.add(client);
    const server = connect({ port: this.#target, host: '127.0.0.1', noDelay: true });
    const pipe = (from: Socket, to: Socket) => {
      from.on('data', (bytes) => {
        if (this.#swallowed.has(client)) return;
        if (this.delayMs === 0) to.write(bytes);
        else setTimeout(() => to.write(bytes), this.delayMs);
      });
    };
    pipe(client, server);
    pipe(server, client);
    client.on('end', () => client.end());
    server.on('end', () => this.#swallowed.has(client) || client.end());
    server.on('error', () => this.#swallowed.has(client) || client.resetAndDestroy());
    client.on('error', () => client.destroy());
    client.on('close', () => {
      this.#open.delete(client);
      server.destroy();
    });
  }
}

export async function startBox(target: number, port?: number): Promise<Box> {
  const box = new Box(target);
  await box.listen(port);
  return box;
}
