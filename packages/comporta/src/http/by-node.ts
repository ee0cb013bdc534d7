import type { Verdict } from './gate.js';
import { onNodeEnd } from './node-end.js';
import { type NodeAnswer, nodeResponder } from './node-respond.js';
import type { NodeRequest } from './node-view.js';
import { respond } from './respond.js';

/** Node's own request and response, where a framework for web requests is served by Node. */
export interface NodePair {
  readonly req?: Pick<NodeRequest, 'socket'> | undefined;
  readonly res?: NodeAnswer | undefined;
}

/**
 * The same verdict without what Node does itself where it serves an allowed request: it carries the fields, which
 * takes a tenth of the time that web headers take, and sees the end of every response, so that a text need not
 * become a stream for it. Elsewhere the verdict as it is.
 */
export function doneByNode(verdict: Verdict, { req, res }: NodePair = {}): Verdict {
  if (!verdict.allowed || req === undefined || res === undefined) return verdict;
  respond(verdict, nodeResponder(res));
  onNodeEnd(req, res, verdict.finish);
  return { ...verdict, headers: [], finish: undefined };
}
