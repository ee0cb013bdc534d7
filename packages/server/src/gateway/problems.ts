/** Answers that the gateway gives itself, as `application/problem+json` (RFC 9457). */
export interface Fault {
  readonly status: number;
  readonly body: string;
}

export type FaultName =
  | 'badTarget'
  | 'unclearTarget'
  | 'badHost'
  | 'badSyntax'
  | 'badUpgrade'
  | 'badExpectation'
  | 'noRoute'
  | 'noConnect'
  | 'slowRequest'
  | 'bodyTooLarge'
  | 'headersTooLarge'
  | 'internal'
  | 'badCoding'
  | 'noUpgrade'
  | 'badUpstream'
  | 'slowUpstream';

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad request',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Request timeout',
  413: 'Content too large',
  417: 'Expectation failed',
  431: 'Request header fields too large',
  500: 'Internal error',
  501: 'Not implemented',
  502: 'Bad gateway',
  504: 'Gateway timeout',
};

function fault(status: number, detail: string): Fault {
  return { status, body: JSON.stringify({ type: 'about:blank', title: TITLES[status], status, detail }) };
}

/** Made once: no fault costs a request more than a look-up, and none repeats what a client sent. */
export const faults: Readonly<Record<FaultName, Fault>> = {
  badTarget: fault(400, 'The request target must be a path that starts with "/".'),
  unclearTarget: fault(400, 'The path of the request may be read in more than one way.'),
  badHost: fault(400, 'The request must have exactly one valid Host header.'),
  badSyntax: fault(400, 'The request is not valid HTTP/1.1.'),
  badUpgrade: fault(400, 'A WebSocket handshake is a GET request without a body.'),
  noRoute: fault(404, 'No route of the gateway takes this request.'),
  noConnect: fault(405, 'The gateway is no forward proxy.'),
  slowRequest: fault(408, 'The request did not arrive in time.'),
  bodyTooLarge: fault(413, 'The request body is larger than the gateway allows.'),
  badExpectation: fault(417, 'The only expectation that is met here is 100-continue.'),
  headersTooLarge: fault(431, 'The request headers are larger than the gateway allows.'),
  internal: fault(500, 'The gateway could not handle this request.'),
  badCoding: fault(501, 'The only transfer coding that the gateway takes is chunked.'),
  noUpgrade: fault(501, 'This route does not take protocol upgrades.'),
  badUpstream: fault(502, 'The upstream could not be reached or did not answer properly.'),
  slowUpstream: fault(504, 'The upstream did not answer in time.'),
};

export function isFault(value: object): value is Fault {
  return 'body' in value;
}

/** What an error of the upstream's connection means for the client. */
export function upstreamFault({ code }: NodeJS.ErrnoException): Fault {
  return code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT' ? faults.slowUpstream : faults.badUpstream;
}
