import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Connection } from './connection.js';
import type { Reply } from './resp.js';

/** What a bridge does instead of serving. */
export type BridgeFault = 'hang' | 'refuse' | 'fail' | 'garbage' | 'half' | 'page' | 'close' | 'limit';

/** One request as it came. */
export interface BridgeRequest {
  readonly path: string;
  readonly commands: readonly (readonly string[])[];
}

const TOKEN = 'test-token-0123456789';
const FLAG = /^#!lua flags=(?:(no-writes),)?allow-key-locking\n/;

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex');

/** Upstash's REST API before a real server: what a command is, and what it answers, is that server's. */
export class UpstashBridge {
  readonly token: string = TOKEN;
  readonly requests: BridgeRequest[] = [];
  /** Texts of scripts as they came. */
  readonly scripts: Set<string> = new Set();
  fault: BridgeFault | undefined;
  readonly #http: HttpServer;
  readonly #redis: Connection;
  /** The server knows scripts without Upstash's flag, by other names. */
  readonly #names: Map<string, string> = new Map();

  private constructor(http: HttpServer, redis: Connection) {
    this.#http = http;
    this.#redis = redis;
    http.on('request', (request, response) => void this.#answer(request, response));
  }

  static async start(redisPort: number): Promise<UpstashBridge> {
    const http = createServer().listen(0, '127.0.0.1');
    await once(http, 'listening');
    return new UpstashBridge(http, await Connection.open(redisPort));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#redis.close();
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await read(request);
    if (this.fault !== undefined) return misbehave(this.fault, request, response);
    if (request.headers.authorization !== `Bearer ${this.token}`) {
      return say(response, 401, { error: 'WRONGPASS invalid or missing auth token' });
    }
    const encode = request.headers['upstash-encoding'] === 'base64' ? toBase64 : (reply: Reply) => reply;
    const given = JSON.parse(body) as (string | number)[] | (string | number)[][];
    const isPipeline = request.url === '/pipeline';
    const commands = (isPipeline ? given : [given]).map((command) => (command as unknown[]).map(String));
    this.requests.push({ path: request.url ?? '', commands });
    const answers: object[] = [];
    for (const command of commands) answers.push(await this.#run(command, encode));
    if (isPipeline) return say(response, 200, answers);
    say(response, 'error' in (answers[0] ?? {}) ? 400 : 200, answers[0]);
  }

  async #run(command: readonly string[], encode: (reply: Reply) => unknown): Promise<object> {
    try {
      return { result: encode(await this.#redis.command(...this.#translated(command))) };
    } catch (error) {
      return { error: (error as Error).message };
    }
  }

  /** The server refuses the flag, so it never sees it. */
  #translated([name = '', text = '', ...rest]: readonly string[]): string[] {
    const kind = name.toUpperCase();
    if (kind === 'EVALSHA') return [name, this.#names.get(text) ?? text, ...rest];
    const isLoad = kind === 'SCRIPT' && text.toUpperCase() === 'LOAD';
    if (kind !== 'EVAL' && !isLoad) return text === '' ? [name] : [name, text, ...rest];
    const script = isLoad ? (rest[0] ?? '') : text;
    this.scripts.add(script);
    const plain = script.replace(FLAG, (_, flags?: string) => (flags ? `#!lua flags=${flags}\n` : '#!lua\n'));
    this.#names.set(sha1(script), sha1(plain));
    return isLoad ? [name, text, plain] : [name, plain, ...rest];
  }
}

/** Texts are sent as base64 to whoever asks for it, as the package does. */
function toBase64(reply: Reply): unknown {
  if (typeof reply === 'string') return reply === 'OK' ? reply : Buffer.from(reply).toString('base64');
  return Array.isArray(reply) ? reply.map(toBase64) : reply;
}

async function read(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

function say(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function misbehave(fault: BridgeFault, request: IncomingMessage, response: ServerResponse): void {
  if (fault === 'hang') return;
  if (fault === 'close') request.socket.destroy();
  else if (fault === 'refuse') say(response, 401, { error: 'Unauthorized' });
  else if (fault === 'limit') say(response, 429, { error: 'ERR max requests limit exceeded' });
  else if (fault === 'fail') response.writeHead(500).end('internal error');
  else if (fault === 'garbage') response.writeHead(200).end('{"result":');
  else if (fault === 'page') response.writeHead(200, { 'content-type': 'text/html' }).end('<html>a proxy</html>');
  else {
    response.writeHead(200, { 'content-length': '1000' }).write('{"result":[1,');
    setTimeout(() => request.socket.destroy(), 5);
  }
}
