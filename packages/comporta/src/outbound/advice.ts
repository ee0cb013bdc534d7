import { parseList } from './structured.js';

/** What an answer of a third party says about its rate limit. */
export interface Advice {
  /** The request was refused for the rate, or because the service is overloaded. */
  readonly isRefusal: boolean;
  /** Ms until more requests are welcome, at least 0; `undefined` when the answer does not say. */
  readonly waitMs: number | undefined;
}

/** The part of `Headers` that is needed. */
export interface HeaderReader {
  get(name: string): string | null;
}

/** What is left, as one family of fields tells it. */
interface Quota {
  readonly isUsedUp: boolean;
  readonly waitMs: number | undefined;
}

/** Reads an answer. `nowMs` is used where the answer has no `Date` of its own. Never throws: odd values are ignored. */
export function readAdvice(status: number, headers: HeaderReader, nowMs: number): Advice {
  const mayRefuse = status === 429 || status === 503 || status === 403;
  const sentAtMs = dateOf(headers.get('date')) ?? nowMs;
  const stated = mayRefuse ? retryAfterOf(headers, sentAtMs) : undefined;
  const quota = isFromCache(headers) ? undefined : quotaOf(headers, sentAtMs);
  const waitMs = stated ?? (quota?.isUsedUp === true ? quota.waitMs : undefined);
  // GitHub and others refuse with 403; without a word on limits it is about rights.
  const isRefusal = mayRefuse && (status !== 403 || stated !== undefined || quota?.isUsedUp === true);
  return { isRefusal, waitMs };
}

/** A stored answer tells of the quota of whoever caused it. */
const isFromCache = (headers: HeaderReader): boolean => Number(headers.get('age') ?? 0) > 0;

const quotaOf = (headers: HeaderReader, sentAtMs: number): Quota | undefined =>
  namedQuota(headers) ??
  dictionaryQuota(headers) ??
  separateQuota(headers, 'ratelimit-', sentAtMs) ??
  separateQuota(headers, 'x-ratelimit-', sentAtMs) ??
  separateQuota(headers, 'x-rate-limit-', sentAtMs);

/** Seconds, or an HTTP date; some services send milliseconds beside it. */
function retryAfterOf(headers: HeaderReader, sentAtMs: number): number | undefined {
  const exact = numbersOf(headers.get('retry-after-ms'));
  if (exact !== undefined) return Math.ceil(Math.max(...exact));
  const text = headers.get('retry-after');
  const seconds = numbersOf(text);
  if (seconds !== undefined) return toMs(Math.max(...seconds));
  const date = dateOf(text);
  return date === undefined ? undefined : Math.max(0, date - sentAtMs);
}

/** `RateLimit: "name";r=0;t=30` since draft 8; without `t` the window of that policy is the longest wait. */
function namedQuota(headers: HeaderReader): Quota | undefined {
  const items = parseList(headers.get('ratelimit') ?? '') ?? [];
  const counts = items.filter(({ value, parameters }) => typeof value === 'string' && isCount(parameters.get('r')));
  if (counts.length === 0) return undefined;
  const policies = parseList(headers.get('ratelimit-policy') ?? '') ?? [];
  const windows = new Map(policies.map(({ value, parameters }) => [value, parameters.get('w')]));
  const used = counts.filter(({ parameters }) => parameters.get('r') === 0);
  const waits = used.map(({ value, parameters }) => parameters.get('t') ?? windows.get(value)).filter(isCount);
  return { isUsedUp: used.length > 0, waitMs: waits.length > 0 ? toMs(Math.max(...waits)) : undefined };
}

/** `RateLimit: limit=100, remaining=0, reset=30`, of draft 7. */
function dictionaryQuota(headers: HeaderReader): Quota | undefined {
  const text = headers.get('ratelimit') ?? '';
  const remaining = memberOf(text, 'remaining');
  const reset = memberOf(text, 'reset');
  if (remaining === undefined) return undefined;
  return { isUsedUp: remaining === 0, waitMs: reset === undefined ? undefined : toMs(reset) };
}

function memberOf(text: string, name: string): number | undefined {
  const member = text.split(',').find((part) => part.trim().startsWith(`${name}=`));
  const [value] = numbersOf(member?.trim().slice(name.length + 1)) ?? [];
  return value;
}

/** One field for what remains and one for when it is renewed. */
function separateQuota(headers: HeaderReader, prefix: string, sentAtMs: number): Quota | undefined {
  const remaining = numbersOf(headers.get(`${prefix}remaining`));
  if (remaining === undefined) return undefined;
  const after = numbersOf(headers.get(`${prefix}reset-after`));
  const waitMs = after === undefined ? resetOf(headers.get(`${prefix}reset`), sentAtMs) : toMs(Math.max(...after));
  return { isUsedUp: Math.min(...remaining) < 1, waitMs };
}

/** No wait is longer than 15 years, and no service counts its time from before 1985. */
const EPOCH_SECONDS_FROM = 500_000_000;
const EPOCH_MS_FROM = EPOCH_SECONDS_FROM * 1000;
const EPOCH_MS_TO = 1e14;

/** Services disagree on what a reset is: seconds to go, seconds or milliseconds since 1970, or a date. */
function resetOf(text: string | null, sentAtMs: number): number | undefined {
  const numbers = numbersOf(text);
  if (numbers === undefined) {
    const date = dateOf(text);
    return date === undefined ? undefined : Math.max(0, date - sentAtMs);
  }
  const reset = Math.max(...numbers);
  if (reset < EPOCH_SECONDS_FROM) return toMs(reset);
  const atMs = reset < EPOCH_MS_FROM ? reset * 1000 : reset;
  return atMs < EPOCH_MS_TO ? Math.ceil(Math.max(0, atMs - sentAtMs)) : undefined;
}

/** The numbers of a field, of which proxies may have joined several; `undefined` unless all are sound. */
function numbersOf(text: string | null | undefined): readonly number[] | undefined {
  const parts = (text ?? '').split(',').map((part) => part.trim());
  return parts.every((part) => /^\d{1,15}(\.\d{1,9})?$/.test(part)) ? parts.map(Number) : undefined;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

const toMs = (seconds: number): number => Math.min(Math.ceil(seconds * 1000), Number.MAX_SAFE_INTEGER);

const DATE = /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)|\d{4}-\d\d-\d\dT)/;

/** An HTTP date, or an ISO one where a service prefers that. */
function dateOf(text: string | null): number | undefined {
  if (text === null || !DATE.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
