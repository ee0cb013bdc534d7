import { connect, type Socket } from 'node:net';
import type { Faults, Flow } from './proxy.js';
import { asText, RespReader } from './resp.js';

type Seen = (name: string, args: readonly string[]) => void;

/** One client connection through the proxy and its connection to the server. */
export class Link {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #requests: Pipe;
  readonly #replies: Pipe;

  constructor(client: Socket, target: number, faults: Readonly<Faults>, seen: Seen) {
    this.#client = client;
    this.#server = connect({ port: target, host: '127.0.0.1', noDelay: true });
    this.#requests = new Pipe(client, this.#server, faults, () => faults.requests, commandReader(seen));
    this.#replies = new Pipe(this.#server, client, faults, () => faults.replies, this.#cutter(faults));
    // A server that is not there looks to the client as it would without the proxy: the connection breaks.
    this.#server.on('error', () => this.reset());
    client.on('error', () => this.destroy());
    client.on('close', () => this.#server.destroy());
  }

  /** Whether bytes of this connection were lost. */
  get torn(): boolean {
    return this.#requests.torn || this.#replies.torn;
  }

  /** Lets changed faults take effect on what is on its way. */
  apply(): void {
    this.#requests.pump();
    this.#replies.pump();
  }

  reset(): void {
    this.#server.destroy();
    this.#client.resetAndDestroy();
  }

  destroy(): void {
    this.#server.destroy();
    this.#client.destroy();
  }

  /** Cuts a chunk of replies to what may still pass, and the connection once that is out. */
  #cutter(faults: Readonly<Faults>): (chunk: Buffer) => Buffer {
    let limit = faults.cutAfterBytes;
    let passed = 0;
    return (chunk) => {
      if (limit !== faults.cutAfterBytes) passed = 0;
      limit = faults.cutAfterBytes;
      if (limit === undefined || passed + chunk.length < limit) {
        passed += chunk.length;
        return chunk;
      }
      // Not at once: a reset would take back the bytes that are still in the socket's buffer.
      setTimeout(() => this.reset(), 20);
      const rest = chunk.subarray(0, Math.max(0, limit - passed));
      passed = limit;
      return rest;
    };
  }
}

/** One direction: takes chunks from one socket and hands them to the other as the flow says. */
class Pipe {
  torn = false;
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #faults: Readonly<Faults>;
  readonly #flow: () => Flow;
  readonly #queue: { readonly chunk: Buffer; readonly atMs: number }[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    from: Socket,
    to: Socket,
    faults: Readonly<Faults>,
    flow: () => Flow,
    through: (chunk: Buffer) => Buffer,
  ) {
    this.#from = from;
    this.#to = to;
    this.#faults = faults;
    this.#flow = flow;
    from.on('data', (bytes: Buffer) => {
      const chunk = through(bytes);
      if (this.#flow() === 'drop') this.torn = true;
      else if (chunk.length > 0) this.#queue.push({ chunk, atMs: performance.now() });
      this.pump();
    });
    from.on('end', () => this.#flow() !== 'ignore' && this.#to.end());
    this.pump();
  }

  pump(): void {
    clearTimeout(this.#timer);
    if (this.#flow() === 'ignore') this.#from.pause();
    else this.#from.resume();
    if (this.#flow() === 'drop') this.#lose();
    if (this.#flow() === 'pass') this.#deliver();
  }

  #deliver(): void {
    for (let head = this.#queue[0]; head !== undefined; head = this.#queue[0]) {
      const waitMs = head.atMs + this.#faults.delayMs - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.pump(), waitMs);
        return;
      }
      this.#queue.shift();
      this.#to.write(head.chunk);
    }
  }

  /** Bytes that are on their way when the flow drops are lost too. */
  #lose(): void {
    if (this.#queue.length > 0) this.torn = true;
    this.#queue.length = 0;
  }
}

/** Reads what a client sends and reports each command; changes nothing. */
function commandReader(seen: Seen): (chunk: Buffer) => Buffer {
  const reader = new RespReader();
  return (chunk) => {
    for (const command of reader.feed(chunk)) {
      const [name = '', ...args] = (asText(command) as string[]).map(String);
      seen(name.toUpperCase(), args);
    }
    return chunk;
  };
}
