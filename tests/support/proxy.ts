import { createServer, type Server as Listener, type Socket } from 'node:net';
import { freePort } from './ports.js';
import { Link } from './proxy-link.js';

/** What happens to bytes on their way in one direction. */
export type Flow =
  /** Delivered, after the delay. */
  | 'pass'
  /** Taken and kept; delivered once the flow passes again, as after a network pause. */
  | 'hold'
  /** Taken and lost. */
  | 'drop'
  /** Not even read: the sender's buffers fill up. */
  | 'ignore';

export interface Faults {
  requests: Flow;
  replies: Flow;
  /** Added in each direction. */
  delayMs: number;
  /** Each connection is reset after so many more bytes of replies. */
  cutAfterBytes: number | undefined;
}

/** A command as it reached the proxy, whatever became of it. */
export interface SeenCommand {
  /** Upper case. */
  readonly name: string;
  readonly args: readonly string[];
  /** Monotonic, comparable with `process.hrtime.bigint()` of every process of this machine. */
  readonly atNs: bigint;
  /** Counts from 1 in the order of connecting. */
  readonly connection: number;
}

const SOUND: Faults = { requests: 'pass', replies: 'pass', delayMs: 0, cutAfterBytes: undefined };

/** A TCP proxy in front of one server that misbehaves on demand and writes down what clients sent. */
export class FaultProxy {
  readonly host: string = '127.0.0.1';
  /** Everything that clients sent since the start or the last `forget`. */
  readonly seen: SeenCommand[] = [];
  readonly faults: Faults = { ...SOUND };
  /** Takes new connections in place of the server, while it is set. */
  onConnection: ((client: Socket) => void) | undefined;
  readonly #target: number;
  readonly #links: Set<Link> = new Set();
  #listener: Listener | undefined;
  #port = 0;
  #connections = 0;

  /** Use {@link startProxy}. */
  constructor(target: number) {
    this.#target = target;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#port}`;
  }

  /** How many connections are open now. */
  get open(): number {
    return this.#links.size;
  }

  /** How many commands of this name clients sent. */
  count(name: string): number {
    return this.seen.filter((command) => command.name === name.toUpperCase()).length;
  }

  /** What clients sent after a moment. */
  since(atNs: bigint): SeenCommand[] {
    return this.seen.filter((command) => command.atNs > atNs);
  }

  forget(): void {
    this.seen.length = 0;
  }

  /** Ends every fault. A connection that lost bytes is reset, since TCP never loses some and goes on. */
  async pass(): Promise<void> {
    this.#set(SOUND);
    for (const link of this.#links) if (link.torn) link.reset();
    if (this.#listener === undefined) await this.listen();
  }

  /** A network that pauses: nothing arrives, nothing is lost, all is delivered on `pass`. */
  hold(): void {
    this.#set({ requests: 'hold', replies: 'hold' });
  }

  /** A black hole: connections are accepted and everything sent is lost. */
  blackhole(): void {
    this.#set({ requests: 'drop', replies: 'drop' });
  }

  /** Connections are accepted and never read from. */
  ignore(): void {
    this.#set({ requests: 'ignore', replies: 'ignore' });
  }

  /** Requests reach the server and are carried out; nobody hears of it. */
  dropReplies(): void {
    this.#set({ replies: 'drop' });
  }

  delay(delayMs: number): void {
    this.#set({ delayMs });
  }

  /** Resets each connection after `bytes` more bytes of replies. */
  cutAfter(bytes: number): void {
    this.#set({ cutAfterBytes: bytes });
  }

  /** Resets all open connections; new ones are still accepted. */
  reset(): void {
    for (const link of this.#links) link.reset();
  }

  /** New connections are refused; open ones stay. */
  async refuse(): Promise<void> {
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.close();
  }

  /** As a machine that is gone for good looks: open connections reset, new ones refused. */
  async down(): Promise<void> {
    await this.refuse();
    this.reset();
  }

  async close(): Promise<void> {
    await this.refuse();
    for (const link of this.#links) link.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Opens the port; after `refuse`, the same one again. */
  async listen(port: number = this.#port): Promise<void> {
    const listener = createServer({ noDelay: true }, (client) => this.#accept(client));
    await new Promise<void>((resolve, reject) => {
      listener.once('error', reject);
      listener.listen(port, this.host, resolve);
    });
    this.#listener = listener;
    this.#port = port;
  }

  #set(faults: Partial<Faults>): void {
    Object.assign(this.faults, faults);
    for (const link of this.#links) link.apply();
  }

  #accept(client: Socket): void {
    if (this.onConnection !== undefined) {
      this.onConnection(client);
      return;
    }
    const connection = ++this.#connections;
    const link = new Link(client, this.#target, this.faults, (name, args) => {
      this.seen.push({ name, args, atNs: process.hrtime.bigint(), connection });
    });
    this.#links.add(link);
    client.once('close', () => this.#links.delete(link));
  }
}

/** A proxy on a free port in front of the server on `target`. */
export async function startProxy(target: number | { readonly port: number }): Promise<FaultProxy> {
  const proxy = new FaultProxy(typeof target === 'number' ? target : target.port);
  await proxy.listen(await freePort());
  return proxy;
}
