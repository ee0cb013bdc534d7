import type { Gate, Verdict } from 'comporta/http';
import { wordsOf } from '../access-log/entry.js';
import { nearest } from '../config/nearest.js';
import { forwardedView, type ProxyKind, proxyKinds } from './forwarded.js';
import { underRules } from './policies.js';
import { type Answer, Refusal } from './problem.js';
import type { Call, Outcome, Route } from './route.js';
import type { ApiState } from './state.js';

/** Says to nginx, which passes no other status on, what the refusal is. */
const STATUS_FIELD = 'x-comporta-status';

const refused = (means: string): Outcome => ({ means, type: 'application/problem+json' });

const outcomes: Route['outcomes'] = {
  200: { means: 'The request may pass; the rate-limit fields are in the headers.' },
  400: refused('The proxy does not tell the method, the path or the host of the request.'),
  403: refused(
    'The caller is not in `trustedProxies`, a list of `deny` names the client, or (for nginx) the request is refused: `X-Comporta-Status` says as what.',
  ),
  404: refused('There is no such policy, or `api.authorize` does not have it.'),
  429: refused('The request is refused; `Retry-After` says for how long.'),
  503: refused('Nobody can count at the moment, and a policy refuses then.'),
};

const query = { proxy: '`nginx` for its `auth_request`; left out for Traefik, Caddy and others.' };

const shared = { access: 'proxy', query, outcomes, answer } satisfies Partial<Route>;

/** What proxies ask before they let a request pass. */
export const authorizeRoutes: readonly Route[] = [
  { ...shared, path: '/v1/authorize', summary: 'Decides on a request of a proxy, by all policies that match it.' },
  {
    ...shared,
    path: '/v1/authorize/{policy}',
    summary: 'Decides on a request of a proxy by one policy, if that matches it.',
  },
];

async function answer({ state, request, query: given, policy }: Call): Promise<Answer> {
  if (!state.trusts(request.socket)) {
    throw new Refusal(403, 'Only proxies in trustedProxies may tell what a request was, and the caller is none.');
  }
  const kind = kindOf(given);
  const names = allowedNames(state, policy);
  const view = forwardedView(request, kind);
  return underRules(state.engine, async ({ gate }) => {
    const verdict = gate === undefined ? undefined : await gate.check(view, undefined, undefined, names);
    // Limits of a subject's own may hold places, and nobody here sees the response end.
    verdict?.finish?.({ status: 200, aborted: false });
    return { ...worded(verdict, kind), words: wordsOf(verdict) };
  });
}

function kindOf(given: URLSearchParams): ProxyKind {
  const proxy = given.get('proxy');
  if (proxy === null) return proxyKinds.forwarded;
  if (proxy === 'nginx') return proxyKinds.nginx;
  throw new Refusal(400, 'proxy: expected nginx, or nothing', { field: 'proxy' });
}

/** The policies that are asked; throws a {@link Refusal} for those that are not to be had here. */
function allowedNames({ settings, engine }: ApiState, policy: string): ReadonlySet<string> {
  const { authorize } = settings;
  if (authorize === undefined || authorize === false) {
    throw new Refusal(404, 'Forward-auth is not served: set api.authorize in the configuration.');
  }
  const all = [...((engine.rules.gate as Gate | undefined)?.limiters.keys() ?? [])];
  const served = authorize === true ? all : authorize;
  if (policy === '') return new Set(served);
  if (served.includes(policy)) return new Set([policy]);
  const guess = nearest(policy, served);
  const hint = guess === undefined ? '' : `; did you mean ${JSON.stringify(guess)}?`;
  throw new Refusal(404, `There is no policy ${JSON.stringify(policy)} in api.authorize${hint}`, { field: 'policy' });
}

function worded(verdict: Verdict | undefined, { refusedAs }: ProxyKind): Answer {
  if (verdict === undefined || verdict.allowed) {
    return { status: 200, headers: [...(verdict?.headers ?? []), ['cache-control', 'no-store']], body: '' };
  }
  const { status, headers, body } = verdict;
  if (refusedAs === undefined) return { status, headers, body };
  return { status: refusedAs, headers: [...headers, [STATUS_FIELD, `${status}`]], body };
}
