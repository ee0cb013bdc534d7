import { ComportaError } from '../core/errors.js';
import { type ClientOf, createClientOf } from '../identity/client-name.js';
import type { GateOptions } from './gate.js';
import type { Report } from './report.js';

/**
 * Finds clients as the options say, and reports, once each, the two set-ups in which all clients would
 * share one subject unnoticed: no address reaches us, or only that of a proxy nobody declared.
 */
export function createReportedClientOf(options: GateOptions<never>, report: Report): ClientOf {
  const { trustedProxies, forwardedHeader, ipv6Prefix } = options;
  const clientOf = createClientOf({
    trustedProxies,
    forwardedHeader,
    ipv6Prefix,
    onProxySuspected: (peer) => report(proxySuspected(peer)),
  });
  let settled = false;
  return (view) => {
    const client = clientOf(view);
    if (!settled) {
      settled = true;
      if (client === undefined && view.peerAddress === undefined) report(NO_ADDRESS);
    }
    return client;
  };
}

const NO_ADDRESS: ComportaError = new ComportaError(
  'ERR_KEY',
  'key: "ip" or a list of addresses is used, but requests come without the address of their peer, so all count as anonymous; pass clientAddress, or list "unix" in trustedProxies when a proxy connects through a unix socket',
  'key',
);

function proxySuspected(peer: string): ComportaError {
  return new ComportaError(
    'ERR_PROXIES',
    `trustedProxies: nearly all requests come from ${peer} and carry a forwarding header, so all clients behind it share one subject; list it if it is your proxy`,
    'trustedProxies',
  );
}
