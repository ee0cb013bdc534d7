import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { TlsTexts } from '../config/store.js';
import { answerBadRequest } from '../gateway/bad-request.js';
import { drainServer } from '../gateway/drain.js';
import type { Log } from '../log.js';
import { repeat } from '../time.js';
import { dispatch } from './dispatch.js';
import type { ApiSettings, ApiTls } from './settings.js';
import type { ApiState } from './state.js';

/** How often connections are checked for requests that do not end, and certificates for new ones. */
const CHECK_EVERY_MS = 1000;
/** How long answers that are on their way may take at the end. */
const ENDING_MS = 1000;

/** Listens, and answers by the state in force. */
export class Api {
  readonly server: Server;
  readonly #log: Log;
  readonly #stopWatching: () => void;
  #state: ApiState;
  #certificate: TlsTexts | undefined;

  constructor(state: ApiState, log: Log) {
    const { tls } = state.settings;
    this.#state = state;
    this.#log = log;
    this.#certificate = tls;
    this.server = createListener(state.settings);
    const receive = (request: IncomingMessage, response: ServerResponse): void =>
      void dispatch(this.#state, request, response, log);
    this.server.on('request', receive).on('checkContinue', receive).on('clientError', answerBadRequest);
    this.#stopWatching = tls === undefined ? () => undefined : repeat(CHECK_EVERY_MS, () => this.#renew());
  }

  /** Later requests are answered by another state. */
  replaceState(state: ApiState): void {
    this.#state = state;
    this.#renew();
  }

  async drain(): Promise<void> {
    this.#stopWatching();
    await drainServer(this.server, ENDING_MS);
  }

  /** A renewed certificate is for new connections; one that cannot be used changes nothing. */
  #renew(): void {
    const { tls } = this.#state.settings;
    if (tls === undefined || !('setSecureContext' in this.server)) return;
    try {
      const texts = tls.reread();
      if (isSame(texts, this.#certificate)) return;
      this.#certificate = texts;
      (this.server as TlsServer).setSecureContext({ ...texts });
      this.#log.info('certificate of the API renewed');
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
    this.#log.error('certificate of the API not renewed, the last good one stays in use', { error: fault });
  }
}

const isSame = (a: TlsTexts, b: TlsTexts | undefined): boolean =>
  a.cert === b?.cert && a.key === b?.key && a.ca === b?.ca;

function createListener({ tls, requestTimeout, idleTimeout }: ApiSettings): Server {
  const times = {
    requestTimeout,
    headersTimeout: requestTimeout,
    keepAliveTimeout: idleTimeout,
    connectionsCheckingInterval: CHECK_EVERY_MS,
  };
  return tls === undefined ? createServer(times) : createTlsServer({ ...times, ...secured(tls) });
}

/** Without a certificate a caller still reaches health; the rest is refused in words that it can read. */
function secured({ cert, key, ca }: ApiTls): Parameters<typeof createTlsServer>[0] {
  const texts = { ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
  return ca === undefined ? texts : { ...texts, ca, requestCert: true, rejectUnauthorized: false };
}
