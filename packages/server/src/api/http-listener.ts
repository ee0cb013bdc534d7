import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { TLSSocket } from 'node:tls';
import type { TlsTexts } from '../config/store.js';
import { answerFault } from '../gateway/answer.js';
import { answerBadRequest } from '../gateway/bad-request.js';
import { AT_ONCE, drainServer } from '../gateway/drain.js';
import { faults } from '../gateway/problems.js';
import type { Log } from '../log.js';
import { repeat } from '../time.js';
import { Refusal } from './problem.js';
import type { RenewableTls } from './tls.js';

/** How often connections are checked for requests that do not end, and certificates for new ones. */
const CHECK_EVERY_MS = 1000;
/** How long answers that are on their way may take at the end. */
const ENDING_MS = 1000;

export interface HttpListenerOptions {
  /** What it belongs to, for the log. */
  readonly name: string;
  readonly tls: RenewableTls | undefined;
  readonly requestTimeout: number;
  readonly idleTimeout: number;
  readonly receive: (request: IncomingMessage, response: ServerResponse) => void;
  readonly log: Log;
  /** Certificates were read again: whether they are in use. */
  readonly onReload: (isGood: boolean) => void;
}

/** A server for HTTP or HTTPS that puts renewed certificates in use. */
export class HttpListener {
  readonly server: Server;
  readonly #name: string;
  readonly #log: Log;
  readonly #onReload: (isGood: boolean) => void;
  readonly #stopWatching: () => void;
  #tls: RenewableTls | undefined;
  #certificate: TlsTexts | undefined;

  constructor({ name, tls, log, receive, onReload, ...times }: HttpListenerOptions) {
    this.#name = name;
    this.#log = log;
    this.#onReload = onReload;
    this.#tls = tls;
    this.#certificate = tls;
    this.server = createListener(tls, times);
    this.server.on('request', receive).on('checkContinue', receive).on('clientError', answerBadRequest);
    this.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
      answerFault(request, response, faults.badExpectation),
    );
    this.#stopWatching = tls === undefined ? () => undefined : repeat(CHECK_EVERY_MS, () => this.#renew());
  }

  /** Other files, which replace those that it began with where there were any. */
  replaceTls(tls: RenewableTls | undefined): void {
    this.#tls = tls;
    this.#renew();
  }

  async drain(isAtOnce: boolean): Promise<void> {
    this.#stopWatching();
    await drainServer(this.server, isAtOnce ? AT_ONCE : { delayMs: 0, limitMs: ENDING_MS });
  }

  /** A renewed certificate is for new connections; one that cannot be used changes nothing. */
  #renew(): void {
    if (this.#tls === undefined || !('setSecureContext' in this.server)) return;
    try {
      const texts = this.#tls.reread();
      const isRenewed = !isSame(texts, this.#certificate);
      if (!isRenewed && this.#told === '') return;
      if (isRenewed) (this.server as TlsServer).setSecureContext({ ...texts });
      this.#certificate = texts;
      this.#told = '';
      this.#log.info(`certificate of the ${this.#name} ${isRenewed ? 'renewed' : 'is as before again'}`);
      this.#onReload(true);
    } catch (error) {
      this.#tell(error);
    }
  }

  #told = '';

  /** Once per fault: the files are looked at every second. */
  #tell(error: unknown): void {
    const fault = error instanceof Error ? error.message : String(error);
    if (fault === this.#told) return;
    this.#told = fault;
    this.#onReload(false);
    this.#log.error(`certificate of the ${this.#name} not renewed, the last good one stays in use`, { error: fault });
  }
}

/** Throws a {@link Refusal} where callers must show a certificate, and this one has none that is trusted. */
export function needCertificate(tls: RenewableTls | undefined, { socket }: IncomingMessage): void {
  if (tls?.ca === undefined || (socket instanceof TLSSocket && socket.authorized)) return;
  throw new Refusal(403, 'Expected a client certificate of an authority that is trusted here.');
}

const isSame = (a: TlsTexts, b: TlsTexts | undefined): boolean =>
  a.cert === b?.cert && a.key === b?.key && a.ca === b?.ca;

function createListener(
  tls: RenewableTls | undefined,
  { requestTimeout, idleTimeout }: Pick<HttpListenerOptions, 'requestTimeout' | 'idleTimeout'>,
): Server {
  const times = {
    requestTimeout,
    headersTimeout: requestTimeout,
    keepAliveTimeout: idleTimeout,
    connectionsCheckingInterval: CHECK_EVERY_MS,
  };
  return tls === undefined ? createServer(times) : createTlsServer({ ...times, ...secured(tls) });
}

/** Without a certificate a caller is refused in words that it can read, where it is not let through. */
function secured({ cert, key, ca }: RenewableTls): Parameters<typeof createTlsServer>[0] {
  const texts = { ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
  return ca === undefined ? texts : { ...texts, ca, requestCert: true, rejectUnauthorized: false };
}
