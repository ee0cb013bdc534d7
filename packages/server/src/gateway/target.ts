import type { IncomingMessage } from 'node:http';
import { isUnclear } from './path.js';
import { type Fault, faults } from './problems.js';

const HOST: RegExp = /^(?:[A-Za-z0-9._~%!$&'()*+,;=-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** The Host that passed last: most clients of one site send the same. */
let lastGoodHost = '';

/**
 * What makes a request unfit to be forwarded, beyond what Node's parser refuses. Everything here is
 * something that two HTTP parsers may read in two ways.
 */
export function targetFault(request: IncomingMessage): Fault | undefined {
  const { url = '', headers, rawHeaders } = request;
  // Absolute and asterisk forms carry a second idea of host or path.
  if (url.charCodeAt(0) !== 47 || url.includes('#')) return faults.badTarget;
  if (isUnclear(url)) return faults.unclearTarget;
  const { host } = headers;
  if (host === undefined) {
    // Only HTTP/1.0 knows requests without a host.
    if (request.httpVersionMinor > 0) return faults.badHost;
  } else if (host !== lastGoodHost) {
    if (!HOST.test(host)) return faults.badHost;
    lastGoodHost = host;
  }
  if (countHosts(rawHeaders) > 1) return faults.badHost;
  return hasKnownCoding(request) ? undefined : faults.badCoding;
}

/** True when the end of the body, if there is one, can be told. */
export function hasKnownCoding({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined || coding.toLowerCase() === 'chunked';
}

function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts;
}

/** True when a body follows the headers. */
export function hasBody({ headers }: IncomingMessage): boolean {
  if (headers['transfer-encoding'] !== undefined) return true;
  const length = headers['content-length'];
  return length !== undefined && length !== '0';
}

/** True when the client sends its body only after "100 Continue". */
export function waitsForContinue({ headers, httpVersionMinor }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersionMinor > 0;
}
