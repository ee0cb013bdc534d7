import type { IncomingMessage, ServerResponse } from 'node:http';
import { isComportaError, StoreError } from 'comporta';
import { Gone, readJson } from '../api/body.js';
import { needCertificate } from '../api/http-listener.js';
import { type Answer, problem, Refusal } from '../api/problem.js';
import { answer as send } from '../gateway/answer.js';
import type { Log } from '../log.js';
import type { AuditEntry } from './audit.js';
import type { AdminRoute } from './route.js';
import { routeFor } from './routes.js';
import type { AdminState } from './state.js';
import { subjectName } from './subject-name.js';
import type { Holder } from './tokens.js';

const BODY_MAX_BYTES = 65_536;
const POLICY_SHOWN = 64;
const DETAILS_SHOWN = 512;

/** Answers one request, whatever it is; never rejects. */
export async function dispatch(
  state: AdminState,
  request: IncomingMessage,
  response: ServerResponse,
  log: Log,
): Promise<void> {
  response.on('error', () => undefined);
  const reply = ({ status, headers, body }: Answer): void => {
    if (response.headersSent || response.destroyed) return void response.destroy();
    send(request, response, status, headers.flat(), body, state.isDraining());
  };
  try {
    reply(await answered(state, request, response, log));
  } catch (error) {
    if (error instanceof Gone) return void response.destroy();
    reply(problem(refusalOf(error, log)));
  }
}

async function answered(
  state: AdminState,
  request: IncomingMessage,
  response: ServerResponse,
  log: Log,
): Promise<Answer> {
  // Before anything is told of what there is.
  needCertificate(state.settings.tls, request);
  const holder = state.holderOf(request.headers.authorization);
  if (holder === undefined) throw unauthorized();
  const [path = '', ...search] = (request.url ?? '/').split('?');
  const query = new URLSearchParams(search.join('?'));
  const { route, policy } = routeFor(request.method ?? '', path);
  if (route.role === 'operate' && holder.role !== 'operate') {
    state.audit.record({ who: holder.name, operation: operationOf(route), status: 403 });
    throw new Refusal(403, 'This token may only look: the role operate is needed.');
  }
  const body = route.body && (await readJson(request, response, route.body, BODY_MAX_BYTES));
  const call = { state, query, policy };
  if (route.role === 'read') return route.answer(call, body);
  return audited(state, holder, route, body, log, () => route.answer(call, body));
}

const unauthorized = (): Refusal =>
  new Refusal(401, 'Expected a bearer token that is taken here.', {
    headers: [['www-authenticate', 'Bearer realm="comporta-admin"']],
  });

const operationOf = ({ path }: AdminRoute): string => path.slice(path.lastIndexOf('/') + 1);

/** Records an operation, however it ends. */
async function audited(
  state: AdminState,
  { name: who }: Holder,
  route: AdminRoute,
  body: unknown,
  log: Log,
  run: () => Answer | Promise<Answer>,
): Promise<Answer> {
  const asked = { who, operation: operationOf(route), ...askedFor(state, body) };
  try {
    const answer = await run();
    state.audit.record({ ...asked, status: answer.status });
    return answer;
  } catch (error) {
    const refusal = refusalOf(error, log);
    state.audit.record({ ...asked, status: refusal.status });
    throw refusal;
  }
}

/** Of a body that fits its schema, what the audit log tells. */
function askedFor({ settings, engine }: AdminState, body: unknown): Pick<AuditEntry, 'policy' | 'subject' | 'details'> {
  const { policy, subject, ...more } = body as { readonly policy: string; readonly subject: string | string[] };
  const gate = engine.rules.gate;
  const name = typeof subject === 'string' ? subject : (gate?.subjectOf(policy, subject) ?? JSON.stringify(subject));
  const details = JSON.stringify(more, (_, value) => (value?.algorithm === undefined ? value : writtenLimit(value)));
  return {
    policy: policy.slice(0, POLICY_SHOWN),
    subject: subjectName(name, settings.auditSubjects),
    ...(details !== '{}' && { details: details.slice(0, DETAILS_SHOWN) }),
  };
}

const writtenLimit = ({
  algorithm,
  settings,
}: {
  readonly algorithm: { readonly name: string };
  settings: unknown;
}) => ({
  [algorithm.name]: settings,
});

/** What the library refuses is the caller's to change; its words name the field and hold no secret. */
function refusalOf(error: unknown, log: Log): Refusal {
  if (error instanceof Refusal) return error;
  const retry = { headers: [['retry-after', '1']] } as const;
  if (error instanceof StoreError) {
    return new Refusal(503, 'The store did not confirm it: look before you try again.', retry);
  }
  if (isComportaError(error)) {
    if (error.code === 'ERR_CLOSED') return new Refusal(503, 'This process is ending.', retry);
    return new Refusal(400, error.message, { field: error.field });
  }
  log.error('a request of the admin API failed', { error: String(error) });
  return new Refusal(500, 'The request could not be handled.');
}
