import { ComportaError } from '../core/errors.js';
import { type ClientName, createClientName } from '../identity/client-name.js';
import type { GateOptions } from './gate.js';
import type { Report } from './report.js';

/**
 * Names clients as the options say, and reports, once each, the two set-ups in which all clients would
 * share one subject unnoticed: no address reaches us, or only that of a proxy nobody declared.
 */
export function clientNameOf(options: GateOptions<never>, report: Report): ClientName {
  const { trustedProxies, forwardedHeader, ipv6Prefix } = options;
  const nameOf = createClientName({
    trustedProxies,
    forwardedHeader,
    ipv6Prefix,
    onProxySuspected: (peer) => report(proxySuspected(peer)),
  });
  let settled = false;
  return (view) => {
    const name = nameOf(view);
    if (!settled) {
      settled = true;
      if (name === undefined && view.peerAddress === undefined) report(NO_ADDRESS);
    }
    return name;
  };
}

const NO_ADDRESS: ComportaError = new ComportaError(
  'ERR_KEY',
  'key: "ip" is used, but requests come without the address of their peer, so all count as anonymous; pass clientAddress, or list "unix" in trustedProxies when a proxy connects through a unix socket',
  'key',
);

function proxySuspected(peer: string): ComportaError {
  return new ComportaError(
    'ERR_PROXIES',
    `trustedProxies: nearly all requests come from ${peer} and carry a forwarding header, so all clients behind it share one subject; list it if it is your proxy`,
    'trustedProxies',
  );
}
