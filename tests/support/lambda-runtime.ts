import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { watch } from './reap.js';

const VERSION = '/2018-06-01/runtime';

/** What an invocation came to. */
export type Invocation<Answer> =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'error'; readonly type: string; readonly message: string };

interface Pending {
  readonly id: string;
  readonly body: string;
  readonly deadlineMs: number;
  settle(invocation: Invocation<unknown>): void;
}

/**
 * One execution environment of a function: the Runtime API of AWS Lambda over HTTP, and a process that polls it.
 * As there, the process runs only from its start or an event until it asks for the next event; in between it
 * stands still, with its sockets open.
 */
export class LambdaEnvironment {
  readonly #server: Server;
  readonly #child: ChildProcess;
  #poll: ServerResponse | undefined;
  #wantsPoll: (() => void)[] = [];
  #pending: Pending | undefined;
  #failure: Error | undefined;

  /** Use {@link startEnvironment}. */
  constructor(server: Server, child: ChildProcess) {
    this.#server = server;
    this.#child = child;
    server.on('request', (request, response) => void this.#serve(request, response));
    child.once('exit', (code, signal) => {
      this.#failure ??= new Error(`the process of the function ended (${signal ?? code})`);
      this.#pending?.settle({ kind: 'error', type: 'Runtime.ExitError', message: this.#failure.message });
      this.#wake();
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Thaws the process for one event; resolves when it is frozen again. */
  async invoke<Answer>(event: unknown, timeoutMs = 3000): Promise<Invocation<Answer>> {
    await this.idle();
    const poll = this.#poll as ServerResponse;
    const outcome = new Promise<Invocation<unknown>>((resolve) => {
      const id = randomUUID();
      this.#pending = { id, body: JSON.stringify(event), deadlineMs: Date.now() + timeoutMs, settle: resolve };
    });
    this.#poll = undefined;
    process.kill(this.pid, 'SIGCONT');
    this.#hand(poll);
    const settled = await outcome;
    this.#pending = undefined;
    await this.idle();
    return settled as Invocation<Answer>;
  }

  /** Resolves when the process has asked for an event and stands still; rejects when it has ended. */
  async idle(): Promise<void> {
    while (this.#poll === undefined && this.#failure === undefined) {
      await new Promise<void>((resolve) => this.#wantsPoll.push(resolve));
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#failure = new Error('the environment was shut down');
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGKILL');
      await ended;
    }
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #wake(): void {
    for (const run of this.#wantsPoll.splice(0)) run();
  }

  #hand(poll: ServerResponse): void {
    const { id, body, deadlineMs } = this.#pending as Pending;
    poll.writeHead(200, {
      'content-type': 'application/json',
      'lambda-runtime-aws-request-id': id,
      'lambda-runtime-deadline-ms': `${deadlineMs}`,
      'lambda-runtime-invoked-function-arn': 'arn:aws:lambda:eu-west-1:123456789012:function:limited',
      'lambda-runtime-trace-id': 'Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=0',
    });
    poll.end(body);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '' } = request;
    if (method === 'GET' && url === `${VERSION}/invocation/next`) {
      this.#poll = response;
      process.kill(this.pid, 'SIGSTOP');
      this.#wake();
      return;
    }
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    if (url === `${VERSION}/init/error`) {
      this.#failure = new Error(`the function did not start: ${body}`);
      this.#wake();
    }
    const [, id, what] = /\/invocation\/([^/]+)\/(response|error)$/.exec(url) ?? [];
    const isPending = id !== undefined && id === this.#pending?.id;
    response.writeHead(isPending ? 202 : 403).end('{}');
    if (!isPending) return;
    const content: unknown = body === '' ? undefined : JSON.parse(body);
    const { errorType: type = '', errorMessage: message = '' } = (content ?? {}) as Record<string, string>;
    this.#pending?.settle(what === 'error' ? { kind: 'error', type, message } : { kind: 'answer', answer: content });
  }
}

/** Starts an environment whose process runs `command`; resolves when it has been initialised and is frozen. */
export async function startEnvironment(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<LambdaEnvironment> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const child = spawn(process.execPath, command, {
    env: {
      ...process.env,
      ...env,
      AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${port}`,
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '256',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  watch(child);
  const environment = new LambdaEnvironment(server, child);
  await environment.idle();
  return environment;
}
