// Odd requests to every route of the API and the admin API: each must get an answer that its table has.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../lib/aliases.mjs';
import { exchange } from './http.mjs';
import { bodyFrom } from './json-body.mjs';
import { ODD_NAMES, pick } from './random.mjs';
import { TOKEN } from './services.mjs';

const BATCH = 100;
const dist = (name) => import(pathToFileURL(join(root, 'packages/server/dist', name)).href);
const [api, admin] = await Promise.all(['api', 'admin'].map((door) => dist(`${door}/route.js`)));
const { routes } = await dist('api/routes.js');
const { adminRoutes } = await dist('admin/routes.js');

const TARGETS = [
  ...routes.map((route) => ({ door: 'api', route, statuses: Object.keys(api.outcomesOf(route)).map(Number) })),
  ...adminRoutes.map((route) => ({ door: 'admin', route, statuses: Object.keys(admin.outcomesOf(route)).map(Number) })),
];
/** What Node's parser refuses, at any route; a path may be spelt so that it is another, or none. */
const ANYWHERE = [400, 404, 405, 408, 431];
/** What a proxy may be told without a word: it reads the status. */
const SILENT = ['/v1/authorize'];

const storeExample = { v: 1, calls: [{ op: 'consume', policy: 'p', subject: 's', cost: 1, limits: [] }] };

function pathOf(random, { path, query = {} }) {
  const name = random(4) === 0 ? encodeURIComponent(pick(random, ODD_NAMES).toWellFormed()).slice(0, 3000) : 'per-key';
  let target = path.replace('{policy}', name);
  const names = Object.keys(query);
  const pairs = Array.from({ length: random(4) }, () => {
    const value = random(2) === 0 ? pick(random, ['nginx', '10', 'a', 'per-key', 'refused']) : pick(random, ODD_NAMES);
    return `${pick(random, [...names, 'subject', 'x'])}=${encodeURIComponent(value.toWellFormed()).slice(0, 3000)}`;
  });
  if (pairs.length > 0) target += `?${pairs.join('&')}`;
  if (random(15) === 0)
    target += pick(random, ['%', '%zz', '%00', '//', '/../x', '?', '&&&', ';', '{policy}', '%c0%ae']);
  return target;
}

function headersOf(random, route) {
  const headers = [['host', 'localhost']];
  if (random(12) > 0) headers.push(['authorization', random(12) === 0 ? 'Bearer wrong' : `Bearer ${TOKEN}`]);
  if (route.path.startsWith('/v1/authorize')) {
    const method = pick(random, ['GET', 'GET', 'POST', 'get', 'X'.repeat(40), '']);
    const uri = pick(random, ['/', '/a?b', '//x', 'nothing', '/%00', `/${'a'.repeat(4000)}`]);
    headers.push(
      ['x-forwarded-method', method],
      ['x-forwarded-uri', uri],
      ['x-forwarded-host', pick(random, ['a', '', 'ü'])],
    );
    if (random(3) === 0) headers.push(['x-original-method', method], ['x-original-uri', uri]);
    if (random(2) === 0) headers.push(['x-api-key', pick(random, ['k', '', 'k'.repeat(3000)])]);
    if (random(6) === 0) headers.push(pick(random, headers));
  }
  if (random(20) === 0)
    headers.push(
      pick(random, [
        ['expect', '100-continue'],
        ['expect', 'wonders'],
        ['content-encoding', 'gzip'],
        ['x', 'y'.repeat(20_000)],
        ['upgrade', 'h2c'],
        ['range', 'bytes=0-'],
      ]),
    );
  return headers;
}

/** The body in chunks of HTTP's own, of which the last may be missing. */
function chunked(random, body, isCut) {
  const pieces = [];
  const size = 1 + random(Math.max(1, body.length));
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size);
    pieces.push(Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]));
  }
  return isCut ? pieces : [...pieces, Buffer.from('0\r\n\r\n')];
}

function requestOf(random) {
  const target = pick(random, TARGETS);
  const { route } = target;
  const isAborted = random(15) === 0;
  const hasBody = route.body !== undefined || route.take !== undefined || random(10) === 0;
  const method =
    random(15) === 0 ? pick(random, ['GET', 'POST', 'HEAD', 'PUT', 'OPTIONS', 'TRACE']) : (route.method ?? 'GET');
  const headers = headersOf(random, route);
  let pieces = [];
  let isEndless = false;
  if (hasBody) {
    const body = bodyFrom(random, route.example ?? (route.take === undefined ? {} : storeExample));
    if (random(20) > 0) headers.push(['content-type', random(15) === 0 ? 'text/plain' : 'application/json']);
    if (random(4) === 0) {
      isEndless = random(15) === 0;
      headers.push(['transfer-encoding', isEndless ? 'gzip, chunked' : 'chunked']);
      pieces = chunked(random, body, isAborted);
    } else {
      headers.push(['content-length', String(isAborted ? body.length + 10 : body.length)]);
      pieces = random(4) === 0 ? [body.subarray(0, body.length >> 1), body.subarray(body.length >> 1)] : [body];
    }
  }
  headers.push(['connection', 'close']);
  const lines = [`${method} ${pathOf(random, route)} HTTP/1.1`, ...headers.map((pair) => pair.join(': '))];
  const head = `${lines.join('\r\n')}\r\n\r\n`;
  return { ...target, method, isAborted, isEndless, pieces: [Buffer.from(head, 'latin1'), ...pieces] };
}

function wrongIn({ route, method, statuses, isAborted, isEndless }, answer) {
  if (isAborted) return undefined;
  // Nothing says where a body in an unknown coding ends: its connection is closed at once, while more may come.
  if (answer === undefined && isEndless) return undefined;
  if (answer === undefined) return 'no answer';
  const { status, type, body, isWhole } = answer;
  const isKnown = statuses.includes(status) || ANYWHERE.includes(status) || (method === 'OPTIONS' && status === 204);
  if (!isKnown || status >= 500) return `status ${status}: ${body}`;
  if (method === 'HEAD') return undefined;
  if (!isWhole) return `${status} without the end of its body: ${body}`;
  const isRefusal = status >= 400 && !(route.path === '/json' && status === 429);
  if (isRefusal && type !== 'application/problem+json') return `${status} as ${type}: ${body}`;
  if (type.includes('json')) {
    const told = JSON.parse(body);
    if (isRefusal && told.status !== status && !SILENT.some((start) => route.path.startsWith(start)))
      return `${status} that says ${body}`;
  }
  // What was sent may not come back at length.
  return isRefusal && body.length > 8000 ? `a refusal of ${body.length} characters` : undefined;
}

const post = (path, value) => {
  const body = JSON.stringify(value);
  const start = `POST ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${TOKEN}\r\n`;
  const head = `${start}content-type: application/json\r\n`;
  return [Buffer.from(`${head}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`)];
};

/** Sends a batch; says what is wrong then, and nothing when all is well. */
export async function jsonFault(random, { ports }) {
  const requests = Array.from({ length: BATCH }, () => requestOf(random));
  const answers = await Promise.all(
    requests.map(({ door, pieces, isAborted }) => exchange(ports[door], pieces, { isAborted }).catch(String)),
  );
  for (const [i, request] of requests.entries()) {
    const wrong = typeof answers[i] === 'string' ? answers[i] : wrongIn(request, answers[i]);
    if (wrong !== undefined)
      return `${wrong.slice(0, 500)}\nfor ${Buffer.concat(request.pieces).toString('latin1').slice(0, 3000)}`;
  }
  const subject = `sound-${random(1_000_000_000)}`;
  for (const [door, path] of [
    ['api', '/v1/consume'],
    ['admin', '/admin/subjects/inspect'],
  ]) {
    const sound = await exchange(ports[door], post(path, { policy: 'per-key', subject }));
    if (sound?.status !== 200) return `a sound request got ${sound?.status}: ${sound?.body}`;
  }
  return undefined;
}

export const JSON_BATCH = BATCH;
