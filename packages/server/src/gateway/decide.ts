import type { IncomingMessage } from 'node:http';
import type { MaybePromise } from 'comporta';
import { NodeView, type Verdict } from 'comporta/http';
import type { Rules } from '../engine/rules.js';

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
export function decide(rules: Rules, request: IncomingMessage): MaybePromise<Verdict> {
  if (rules.gate === undefined) return PASS;
  const verdict = rules.gate.check(new NodeView(request, request, request.url, undefined));
  if (!(verdict instanceof Promise)) return holding(rules, verdict);
  rules.enter();
  return verdict.then((settled) => holding(rules, settled)).finally(() => rules.leave());
}

/** A verdict that is settled after the response keeps its gate open until then. */
function holding(rules: Rules, verdict: Verdict): Verdict {
  const { finish } = verdict;
  if (finish === undefined) return verdict;
  rules.enter();
  let isHeld = true;
  return {
    ...verdict,
    finish: (outcome) => {
      finish(outcome);
      if (isHeld) rules.leave();
      isHeld = false;
    },
  };
}
