import { once } from 'node:events';
import { connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Agent, request } from 'undici';
import { publicLookup, REFUSED_ADDRESS, type Resolve, urlFault } from './addresses.js';
import type { AlertClock } from './clock.js';
import type { Payload } from './payloads/message.js';
import type { Outcome } from './retry.js';

const CONNECT_TIMEOUT_MS = 5000;
const RESPONSE_MAX_BYTES = 16_384;

/** Sends to one sink, over connections of its own. */
export class Transport {
  readonly #agent: Agent;
  readonly #allowInsecure: boolean;
  readonly #clock: AlertClock;
  readonly #resolve: Resolve | undefined;

  constructor(allowInsecure: boolean, clock: AlertClock, resolve?: Resolve) {
    this.#allowInsecure = allowInsecure;
    this.#clock = clock;
    this.#resolve = resolve;
    const lookup = allowInsecure ? {} : { lookup: publicLookup(resolve) };
    // Each attempt is timed as a whole, so the client's own timers are off.
    this.#agent = new Agent({
      connections: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: CONNECT_TIMEOUT_MS, ...lookup },
    });
  }

  /** One attempt. Never rejects; what it reports holds no part of the address, which may be a secret. */
  async post(address: string, { headers, body }: Payload, timeoutMs: number, signal: AbortSignal): Promise<Outcome> {
    if (!this.#allowInsecure && urlFault(address) !== undefined) return { fault: REFUSED_ADDRESS, isFinal: true };
    const timeout = new AbortController();
    const stopTimer = this.#clock.startTimer(timeoutMs, () => timeout.abort());
    try {
      const { url, credentials } = split(address);
      const answer = await request(url, {
        method: 'POST',
        headers: { ...headers, ...credentials, 'user-agent': 'comporta' },
        body,
        dispatcher: this.#agent,
        signal: AbortSignal.any([timeout.signal, signal]),
      });
      // The status is the answer; a body that never ends changes nothing.
      await answer.body.dump({ limit: RESPONSE_MAX_BYTES }).catch(() => undefined);
      return { status: answer.statusCode, retryAfter: headerOf(answer.headers['retry-after']) };
    } catch (error) {
      const fault = timeout.signal.aborted ? `no answer within ${timeoutMs} ms` : codeOf(error);
      return { fault, isFinal: fault === REFUSED_ADDRESS };
    } finally {
      stopTimer();
    }
  }

  /** Why no connection can be made, TLS included; `undefined` when one can. Sends nothing; never rejects. */
  async reach(address: string, timeoutMs: number, signal: AbortSignal): Promise<string | undefined> {
    if (!this.#allowInsecure && urlFault(address) !== undefined) return REFUSED_ADDRESS;
    const { protocol, hostname, port } = new URL(address);
    const host = hostname.replace(/^\[|\]$/g, '');
    const isTls = protocol === 'https:';
    const lookup = this.#allowInsecure ? {} : { lookup: publicLookup(this.#resolve) };
    const options = { host, port: Number(port || (isTls ? 443 : 80)), ...lookup };
    const socket = isTls ? connectTls({ ...options, ...(isIP(host) === 0 && { servername: host }) }) : connect(options);
    const stopTimer = this.#clock.startTimer(timeoutMs, () => socket.destroy(timedOut(timeoutMs)));
    // Whatever fails after the answer to the question is of no interest.
    socket.on('error', () => undefined);
    try {
      await once(socket, isTls ? 'secureConnect' : 'connect', { signal });
      return undefined;
    } catch (error) {
      return signal.aborted ? undefined : codeOf(error);
    } finally {
      stopTimer();
      socket.destroy();
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy().catch(() => undefined);
  }
}

function timedOut(limitMs: number): Error {
  return Object.assign(new Error(`no connection within ${limitMs} ms`), { code: 'ETIMEDOUT' });
}

/** `https://user:password@host` as an address and a header. */
function split(address: string): { readonly url: URL; readonly credentials: Readonly<Record<string, string>> } {
  const url = new URL(address);
  if (url.username === '' && url.password === '') return { url, credentials: {} };
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = '';
  url.password = '';
  return { url, credentials: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } };
}

function headerOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function codeOf(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : (name ?? 'error');
}
