import type { IncomingMessage, ServerResponse } from 'node:http';
import { isComportaError } from 'comporta';
import { answer as send } from '../gateway/answer.js';
import type { Log } from '../log.js';
import { Gone, readJson } from './body.js';
import { corsFields, preflight } from './cors.js';
import { needCertificate } from './http-listener.js';
import { note } from './observe.js';
import { type Answer, problem, Refusal } from './problem.js';
import type { Route } from './route.js';
import { routeAt } from './routes.js';
import type { ApiState } from './state.js';

const RETRY = { headers: [['retry-after', '1']] } as const;

/** Answers one request, whatever it is; never rejects. `undefined` of the state's routes is answered as well. */
export async function dispatch(
  state: ApiState,
  request: IncomingMessage,
  response: ServerResponse,
  log: Log,
): Promise<void> {
  response.on('error', () => undefined);
  try {
    const answer = await answered(state, request, response);
    if (answer !== undefined) reply(state, request, response, answer);
  } catch (error) {
    if (error instanceof Gone) return void response.destroy();
    reply(state, request, response, problem(refusalOf(error, log)));
  }
}

function reply(state: ApiState, request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const { status, headers, body, words } = answer;
  if (words !== undefined) note(response, words);
  const fields = [...headers, ...corsFields(state.settings.cors, request)].flat();
  send(request, response, status, fields, body, state.health.isDraining());
}

/** `undefined` when the route writes its answer itself. */
async function answered(
  state: ApiState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Answer | undefined> {
  const [path = '/', search = ''] = splitOnce(request.url ?? '/');
  const found = routeAt(path);
  if (found === undefined) throw new Refusal(404, 'There is nothing at this path; /openapi.json says what there is.');
  const { route, policy } = found;
  const allowed = preflight(state.settings.cors, request, route);
  if (allowed !== undefined) return allowed;
  admit(state, request, route);
  if (route.take !== undefined && state.store !== undefined) {
    if (state.health.isDraining()) response.setHeader('connection', 'close');
    for (const [name, value] of corsFields(state.settings.cors, request)) response.setHeader(name, value);
    return void route.take(state, request, response);
  }
  const { maxBodyBytes } = state.settings;
  const body = route.body && (await readJson(request, response, route.body, maxBodyBytes));
  return route.answer({ state, request, query: new URLSearchParams(search), policy }, body);
}

/** Throws a {@link Refusal} unless the caller may use the route in this way. */
function admit({ settings, isKnown, isKnownToStore }: ApiState, request: IncomingMessage, route: Route): void {
  const { method, access } = route;
  const isRead = method === 'GET' && request.method === 'HEAD';
  if (method !== undefined && request.method !== method && !isRead) {
    const allow = method === 'GET' ? 'GET, HEAD' : method;
    throw new Refusal(405, `Expected ${allow}.`, { headers: [['allow', allow]] });
  }
  if (access === 'anybody') return;
  needCertificate(settings.tls, request);
  const isTaken = access === 'token' ? isKnown : access === 'store-token' ? isKnownToStore : undefined;
  if (isTaken === undefined || isTaken(request.headers.authorization)) return;
  throw new Refusal(401, 'Expected a bearer token that is taken here.', {
    headers: [['www-authenticate', 'Bearer realm="comporta"']],
  });
}

/** What the library refuses is the caller's to change; its words name the field and hold no secret. */
function refusalOf(error: unknown, log: Log): Refusal {
  if (error instanceof Refusal) return error;
  if (isComportaError(error)) {
    return error.code === 'ERR_CLOSED'
      ? new Refusal(503, 'This process is ending.', RETRY)
      : new Refusal(400, error.message, { field: error.field });
  }
  log.error('a request of the API failed', { error: String(error) });
  return new Refusal(500, 'The request could not be handled.');
}

function splitOnce(url: string): readonly string[] {
  const mark = url.indexOf('?');
  return mark < 0 ? [url] : [url.slice(0, mark), url.slice(mark + 1)];
}
