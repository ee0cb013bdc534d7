import type { RequestView } from './view.js';

const REQUESTS = 1000;

/**
 * Notices a proxy that was not declared: over the first 1000 requests, more than 9 in 10 come from one
 * untrusted peer and carry the forwarding header. Majority vote: one name and one number of memory.
 */
export function watchForProxy(
  header: string,
  suspect: (peer: string) => void,
): (peer: string, view: RequestView) => void {
  let candidate = '';
  let votes = 0;
  let requests = 0;
  return (peer, view) => {
    if (requests >= REQUESTS) return;
    requests++;
    const isForwarding = view.header(header).length > 0;
    if (isForwarding && votes === 0) candidate = peer;
    if (isForwarding && peer === candidate) votes++;
    else if (votes > 0) votes--;
    // A share of p leaves at least (2p - 1) of the votes.
    if (requests === REQUESTS && votes > REQUESTS * 0.8) suspect(candidate);
  };
}
