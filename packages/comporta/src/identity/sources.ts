import { decodePercent } from './percent.js';
import type { RequestView } from './view.js';

/** Reads one part of a subject from a request; `undefined` when the request does not have it. */
export type Reader = (view: RequestView, params: Params) => string | undefined;

/** Values of a path pattern's parameters, as the matcher found them. */
export type Params = ReadonlyMap<string, string>;

/** Makes a reader of a kind of source for a name: `header` and `x-api-key`. */
export const readers: Readonly<Record<string, (name: string) => Reader>> = {
  header: (name) => (view) => filled(view.header(name).join(', ')),
  cookie: (name) => (view) => filled(cookie(view.header('cookie'), name)),
  jwt: (claim) => (view) => filled(jwtClaim(view.header('authorization'), claim)),
  query: (name) => (view) => filled(queryValue(view.url, name)),
  path: (name) => (_, params) => filled(params.get(name)),
};

const filled = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

/** The first cookie of that name, decoded as applications see it: one value, one subject, however it is spelled. */
function cookie(lines: readonly string[], name: string): string | undefined {
  for (const pair of lines.join(';').split(';')) {
    const at = pair.indexOf('=');
    if (at < 0 || pair.slice(0, at).trim() !== name) continue;
    const value = pair.slice(at + 1).trim();
    return decodePercent(value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value);
  }
  return undefined;
}

/** A parameter given twice with different values has none: nobody knows which one the application takes. */
function queryValue(url: string, name: string): string | undefined {
  const start = url.indexOf('?');
  if (start < 0) return undefined;
  const hash = url.indexOf('#', start);
  const query = url.slice(start + 1, hash < 0 ? undefined : hash);
  let found: string | undefined;
  for (const pair of query.split('&')) {
    const [key = '', ...rest] = pair.split('=');
    if (decodePercent(key.replaceAll('+', ' ')) !== name) continue;
    const value = decodePercent(rest.join('=').replaceAll('+', ' '));
    if (found !== undefined && found !== value) return undefined;
    found = value;
  }
  return found;
}

/** Longer tokens are not read: no identity needs so much, and parsing costs the request its time. */
const TOKEN_LENGTH_MAX = 8192;

/**
 * A claim of a bearer token's payload. The signature is NOT checked here: authentication must do that,
 * before or after. Until it does, a client can name itself whatever it likes.
 */
function jwtClaim(values: readonly string[], claim: string): string | undefined {
  const [value = ''] = values;
  if (values.length !== 1 || value.length > TOKEN_LENGTH_MAX || !/^bearer /i.test(value)) return undefined;
  const [, payload, signature] = value.split('.');
  return payload === undefined || signature === undefined ? undefined : claimOf(payload, claim);
}

function claimOf(payload: string, claim: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof claims !== 'object' || claims === null || !Object.hasOwn(claims, claim)) return undefined;
    const value = (claims as Readonly<Record<string, unknown>>)[claim];
    return typeof value === 'string' || Number.isFinite(value) ? String(value) : undefined;
  } catch {
    return undefined;
  }
}
