import type { IncomingMessage } from 'node:http';
import type { MaybePromise } from 'comporta';
import { NodeView, type Verdict } from 'comporta/http';
import { retireSite, type Site } from './site.js';

const PASS: Verdict = { allowed: true, status: 0, headers: [], body: '', decisions: [] };

/** The verdict on a request, at once when the store answers at once. */
export function decide(site: Site, request: IncomingMessage): MaybePromise<Verdict> {
  if (site.gate === undefined) return PASS;
  const verdict = site.gate.check(new NodeView(request, request, request.url, undefined));
  if (!(verdict instanceof Promise)) return verdict;
  site.pendingDecisions++;
  return verdict.finally(() => {
    site.pendingDecisions--;
    if (site.isReplaced) retireSite(site);
  });
}
