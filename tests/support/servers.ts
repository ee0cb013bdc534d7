import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findServers, type ServerKind } from '../../scripts/lib/find-servers.mjs';
import { Connection } from './connection.js';
import { freePort } from './ports.js';
import { watch } from './reap.js';
import type { Argument, Reply } from './resp.js';
import { until } from './wait.js';

export { findServers, type ServerKind } from '../../scripts/lib/find-servers.mjs';

/** The kinds installed here, for `describe.each`. Never empty: without any, `npm test` stops before. */
export function installedKinds(): ServerKind[] {
  return Object.keys(findServers()) as ServerKind[];
}

export interface ServerOptions {
  /** The first installed kind by default. */
  readonly kind?: ServerKind;
  /** More arguments, such as `['--maxmemory', '2mb']`. */
  readonly args?: readonly string[];
  /** Its folder; a new one that goes with the server by default. */
  readonly dir?: string;
  readonly port?: number;
}

/** A real server of its own on 127.0.0.1, without persistence. */
export class Server {
  readonly kind: ServerKind;
  readonly host: string = '127.0.0.1';
  readonly port: number;
  readonly url: string;
  readonly dir: string;
  readonly #args: readonly string[];
  readonly #ownsDir: boolean;
  #process: ChildProcess | undefined;
  #frozen = false;
  #connection: Connection | undefined;

  /** Use {@link startServer}. */
  constructor(kind: ServerKind, port: number, { args = [], dir }: ServerOptions) {
    this.kind = kind;
    this.port = port;
    this.url = `redis://127.0.0.1:${port}`;
    this.#ownsDir = dir === undefined;
    this.dir = dir ?? mkdtempSync(join(tmpdir(), `comporta-${kind}-`));
    mkdirSync(this.dir, { recursive: true });
    this.#args = args;
  }

  get pid(): number {
    if (this.#process?.pid === undefined) throw new Error(`${this.kind} on port ${this.port} is not running`);
    return this.#process.pid;
  }

  get running(): boolean {
    return this.#process !== undefined;
  }

  /** Running and not frozen. */
  get responsive(): boolean {
    return this.running && !this.#frozen;
  }

  /** Sends one command on a connection of the test's own; error replies reject with `RespError`. */
  async command(...args: readonly Argument[]): Promise<Reply> {
    return (await this.#connected()).command(...args);
  }

  /** As `command`, but bulk replies stay bytes. */
  async buffers(...args: readonly Argument[]): Promise<Reply> {
    return (await this.#connected()).buffers(...args);
  }

  /** Starts the process; resolves when it answers. */
  async start(): Promise<void> {
    const log = openSync(join(this.dir, 'server.log'), 'w');
    const child = spawn(findServers()[this.kind] ?? '', this.#commandLine(), { stdio: ['ignore', log, log] });
    closeSync(log);
    this.#process = child;
    this.#frozen = false;
    child.once('error', () => this.#ended(child));
    child.once('exit', () => this.#ended(child));
    watch(child, this.#ownsDir ? this.dir : undefined);
    await until(() => !this.running || this.#answers(), { what: `start of ${this.kind} on port ${this.port}` });
    if (!this.running) throw new Error(`${this.kind} did not start: ${this.log()}`);
  }

  /** Ends the process without warning, as a crash would; resolves when it is gone. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#process?.kill(signal);
    await until(() => !this.running, { what: `end of ${this.kind} on port ${this.port}`, everyMs: 2 });
  }

  /** Stops the process in its tracks: connections stay open and the kernel still accepts new ones. */
  freeze(): void {
    this.#frozen = true;
    process.kill(this.pid, 'SIGSTOP');
  }

  thaw(): void {
    process.kill(this.pid, 'SIGCONT');
    this.#frozen = false;
  }

  /** A new, empty process on the same port. */
  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  async stop(): Promise<void> {
    await this.kill();
    if (this.#ownsDir) rmSync(this.dir, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** What the process wrote since its last start. */
  log(): string {
    return readFileSync(join(this.dir, 'server.log'), 'utf8');
  }

  #commandLine(): string[] {
    const place = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.dir];
    return [...place, '--save', '', '--appendonly', 'no', '--enable-debug-command', 'local', ...this.#args];
  }

  async #connected(): Promise<Connection> {
    if (this.#connection === undefined || this.#connection.closed) this.#connection = await Connection.open(this.port);
    return this.#connection;
  }

  /** NOAUTH and the like are answers too: a test may set a password. */
  async #answers(): Promise<boolean> {
    return this.command('PING').then(
      () => true,
      (error: Error) => error.name === 'RespError' && !error.message.startsWith('LOADING'),
    );
  }

  #ended(child: ChildProcess): void {
    if (this.#process !== child) return;
    this.#process = undefined;
    this.#frozen = false;
    this.#connection?.close();
  }
}

export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const kind = options.kind ?? installedKinds()[0];
  if (kind === undefined || findServers()[kind] === undefined) {
    throw new Error(`${kind ?? 'redis'}-server is not installed: run \`node scripts/install-servers.mjs\``);
  }
  const server = new Server(kind, options.port ?? (await freePort()), options);
  try {
    await server.start();
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}
