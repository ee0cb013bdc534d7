/** An error reply of the server; `code` is its first word, such as `NOSCRIPT`. */
export class RespError extends Error {
  override readonly name: string = 'RespError';
  readonly code: string;

  constructor(message: string) {
    super(message);
    this.code = message.split(' ', 1)[0] ?? '';
  }
}

/** What a server says, in protocol version 2. Error replies inside lists are values. */
export type Reply = string | number | null | Buffer | RespError | Reply[];

export type Argument = string | number | Buffer;

/** A command as bytes. */
export function encode(args: readonly Argument[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${args.length}\r\n`)];
  for (const arg of args) {
    const bytes = Buffer.isBuffer(arg) ? arg : Buffer.from(String(arg));
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'));
  }
  return Buffer.concat(parts);
}

/** Cuts a stream of bytes into replies; commands have the same form, so it reads those as well. */
export class RespReader {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;

  /** All replies that are complete now; the rest is kept for the next chunk. */
  feed(chunk: Buffer): Reply[] {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    const replies: Reply[] = [];
    for (;;) {
      this.#at = 0;
      const reply = this.#read();
      if (reply === undefined) return replies;
      replies.push(reply);
      this.#bytes = this.#bytes.subarray(this.#at);
    }
  }

  #read(): Reply | undefined {
    const line = this.#line();
    if (line === undefined) return undefined;
    const rest = line.slice(1);
    if (line[0] === '+') return rest;
    if (line[0] === '-') return new RespError(rest);
    if (line[0] === ':') return Number(rest);
    if (line[0] === '$') return this.#bulk(Number(rest));
    if (line[0] === '*') return this.#list(Number(rest));
    throw new Error(`not a reply of protocol version 2: ${JSON.stringify(line.slice(0, 40))}`);
  }

  #line(): string | undefined {
    const end = this.#bytes.indexOf('\r\n', this.#at);
    if (end < 0) return undefined;
    const line = this.#bytes.toString('latin1', this.#at, end);
    this.#at = end + 2;
    return line;
  }

  #bulk(length: number): Buffer | null | undefined {
    if (length < 0) return null;
    const start = this.#at;
    if (this.#bytes.length < start + length + 2) return undefined;
    this.#at = start + length + 2;
    return this.#bytes.subarray(start, start + length);
  }

  #list(length: number): Reply[] | null | undefined {
    if (length < 0) return null;
    const list: Reply[] = [];
    for (let i = 0; i < length; i++) {
      const reply = this.#read();
      if (reply === undefined) return undefined;
      list.push(reply);
    }
    return list;
  }
}

/** Bulk strings as text, at any depth. */
export function asText(reply: Reply): Reply {
  if (Buffer.isBuffer(reply)) return reply.toString();
  return Array.isArray(reply) ? reply.map(asText) : reply;
}
