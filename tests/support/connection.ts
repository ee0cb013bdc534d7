import { connect, type Socket } from 'node:net';
import { type Argument, asText, encode, type Reply, RespError, RespReader } from './resp.js';

interface Waiting {
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

/** A raw connection to a server, free of any client library's habits. Replies come in order. */
export class Connection {
  readonly #socket: Socket;
  readonly #reader: RespReader = new RespReader();
  #waiting: Waiting[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('connection closed')));
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new Connection(socket));
      });
    });
  }

  /** Sends a command; bulk replies come as text. Rejects with {@link RespError} on an error reply. */
  async command(...args: readonly Argument[]): Promise<Reply> {
    return asText(await this.buffers(...args));
  }

  /** As {@link command}, but bulk replies stay bytes. */
  buffers(...args: readonly Argument[]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.closed) return reject(new Error('connection closed'));
      this.#waiting.push({ resolve, reject });
      this.#socket.write(encode(args));
    });
  }

  get closed(): boolean {
    return this.#socket.destroyed;
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    for (const reply of this.#reader.feed(chunk)) {
      const waiting = this.#waiting.shift();
      if (reply instanceof RespError) waiting?.reject(reply);
      else waiting?.resolve(reply);
    }
  }

  #fail(error: Error): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(error);
  }
}
