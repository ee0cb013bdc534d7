import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type ClientOf, createClientOf, NodeView } from 'comporta/http';
import type { ServerConfig } from '../config/config.js';
import { hashKey } from '../hash-key.js';
import { nowMs, startTimer, stopTimer, type Timer } from '../time.js';
import { type Access, type Entry, pathOf, traceIdOf } from './entry.js';

/** Lines are written together: after this time, or as soon as there are so many characters. */
const FLUSH_MS = 100;
const FLUSH_CHARS = 65_536;
const HASH_CHARS = 16;

/** Writes a line of JSON for each request, or for a part of them. Off until told otherwise. */
export class AccessLog {
  readonly #write: (lines: string) => void;
  /** Of this process: without it nobody can try all addresses. */
  readonly #key: Buffer = hashKey('access-log');
  #config: ServerConfig['accessLog'];
  #clientOf: ClientOf = () => undefined;
  #lines = '';
  #timer: Timer | undefined;

  constructor(config: ServerConfig, write: (lines: string) => void) {
    this.#write = write;
    this.apply(config);
  }

  /** Follows a changed configuration. */
  apply({ accessLog, gate }: ServerConfig): void {
    const { trustedProxies, forwardedHeader, ipv6Prefix } = gate;
    this.#config = accessLog;
    this.#clientOf = createClientOf({ trustedProxies, forwardedHeader, ipv6Prefix });
  }

  add(door: string, access: Access): void {
    if (this.#config === undefined || Math.random() >= this.#config.sample) return;
    this.#lines += `${JSON.stringify(this.#entry(door, access, this.#config))}\n`;
    if (this.#lines.length >= FLUSH_CHARS) this.flush();
    else this.#timer ??= startTimer(FLUSH_MS, () => this.flush());
  }

  /** Writes what is kept back. */
  flush(): void {
    stopTimer(this.#timer);
    this.#timer = undefined;
    const lines = this.#lines;
    this.#lines = '';
    if (lines !== '') this.#write(lines);
  }

  #entry(door: string, access: Access, { client, path }: NonNullable<ServerConfig['accessLog']>): Entry {
    const { request, route, status, durationMs, words } = access;
    const name = client === 'none' ? undefined : this.#client(request, client === 'hashed');
    const traceId = traceIdOf(request);
    return {
      time: new Date(nowMs()).toISOString(),
      door,
      method: request.method ?? '',
      route,
      ...(path && { path: pathOf(request) }),
      status,
      durationMs: Math.round(durationMs * 1000) / 1000,
      ...words,
      ...(name !== undefined && { client: name }),
      ...(traceId !== undefined && { traceId }),
    };
  }

  #client(request: IncomingMessage, isHashed: boolean): string | undefined {
    const name = this.#clientOf(new NodeView(request, request, request.url, undefined))?.name;
    if (name === undefined || !isHashed) return name;
    return createHmac('sha256', this.#key).update(name).digest('hex').slice(0, HASH_CHARS);
  }
}
