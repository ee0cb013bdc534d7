import type { IncomingMessage } from 'node:http';
import type { MaybePromise } from 'comporta';
import { NodeView, type Verdict } from 'comporta/http';
import { leaveSite, type Site } from './site.js';

const PASS: Verdict = {
  allowed: true,
  status: 0,
  headers: [],
  body: '',
  decisions: [],
  shadowed: [],
  deniedBy: [],
};

/** The verdict on a request, at once when the store answers at once. */
export function decide(site: Site, request: IncomingMessage): MaybePromise<Verdict> {
  if (site.gate === undefined) return PASS;
  const verdict = site.gate.check(new NodeView(request, request, request.url, undefined));
  if (!(verdict instanceof Promise)) return holding(site, verdict);
  site.pending++;
  return verdict.then((settled) => holding(site, settled)).finally(() => leaveSite(site));
}

/** A verdict that is settled after the response keeps its gate open until then. */
function holding(site: Site, verdict: Verdict): Verdict {
  const { finish } = verdict;
  if (finish === undefined) return verdict;
  site.pending++;
  let isHeld = true;
  return {
    ...verdict,
    finish: (outcome) => {
      finish(outcome);
      if (isHeld) leaveSite(site);
      isHeld = false;
    },
  };
}
