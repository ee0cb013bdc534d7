import { ComportaError, show } from '../core/errors.js';
import { unawaited } from '../core/unawaited.js';
import { type Params, type Reader, readers } from './sources.js';
import type { RequestView } from './view.js';

/**
 * Who is counted: `ip`, `header:NAME`, `cookie:NAME`, `jwt:CLAIM` (unverified payload of a bearer
 * token), `query:NAME`, `path:PARAM`, or `global` (everybody together).
 */
export type KeySource = string;

/** One source, a list whose parts make one subject, or a function of the request. */
export type Key<Request = unknown> = KeySource | readonly KeySource[] | ((view: RequestView<Request>) => unknown);

/**
 * Subject of every request that has no usable one; they are counted together. All others contain `=`
 * or are `global`, so no client can be put here or come here by a value that it chose.
 */
export const ANONYMOUS = 'anonymous';
/** The one subject of everybody. */
export const GLOBAL = 'global';

const SOURCES_MAX = 8;
const SOURCES = 'ip, header:NAME, cookie:NAME, jwt:CLAIM, query:NAME, path:PARAM';
const EXPECTED = `expected ${SOURCES}, global, a list of them or a function`;

/** What compiling a key needs beside the key itself. */
export interface KeyContext {
  /** Where the key stands in the configuration, for messages. */
  readonly field: string;
  /** Names the client of a request. */
  readonly clientIp: (view: RequestView) => string | undefined;
  /** Told when a key function throws or returns what cannot be a subject. */
  readonly report: (error: ComportaError) => void;
}

/** The subject of a request; never throws, never empty. */
export type SubjectOf<Request = unknown> = (view: RequestView<Request>, params: Params) => string;

/** A source that has been understood: the start of its subjects, and how to read the rest. */
interface Part {
  readonly prefix: string;
  readonly read: Reader;
}

/** Reads one part of a subject by itself; throws `ERR_KEY` when it is no source. */
export function compileSource(source: unknown, field: string, clientIp: KeyContext['clientIp']): Reader {
  return parsePart(source, field, { clientIp }, `expected one of ${SOURCES}`).read;
}

/** Turns a key into the function that names a request's subject; throws `ERR_KEY` when it cannot be one. */
export function compileKey<Request>(key: Key<Request>, context: KeyContext): SubjectOf<Request> {
  if (typeof key === 'function') return fromFunction(key, context);
  if (key === GLOBAL) return () => GLOBAL;
  if (!Array.isArray(key)) return single(parsePart(key, context.field, context));
  const sources: readonly unknown[] = key;
  if (sources.length === 1 && sources[0] === GLOBAL) return () => GLOBAL;
  if (sources.length < 1 || sources.length > SOURCES_MAX)
    throw refusal(context.field, `expected 1 to ${SOURCES_MAX} sources`);
  const parts = sources.map((source, i) => parsePart(source, `${context.field}[${i}]`, context));
  refuseRepeated(parts, context.field);
  return parts.length === 1 ? single(parts[0] as Part) : composite(parts);
}

/**
 * The subject of requests whose key has this value, or these values of a list of sources; `undefined`
 * when the key can have none such.
 */
export function subjectOfValue(key: Key<never>, value: unknown): string | undefined {
  if (subjectForm(key) === GLOBAL) return undefined;
  if (typeof key === 'function') return isFilled(value) ? `key=${value}` : undefined;
  const prefixes = [key].flat().map(prefixOf);
  const values = prefixes.length === 1 ? [value].flat() : value;
  if (!Array.isArray(values) || values.length !== prefixes.length || !values.every(isFilled)) return undefined;
  if (prefixes.length === 1) return `${prefixes[0]}=${values[0]}`;
  return values.map((text: string, i) => `${prefixes[i]}=${escapeCommas(text)}`).join();
}

/** How a key names its subjects, with VALUE for what requests bring. */
export function subjectForm(key: Key<never>): string {
  if (typeof key === 'function') return 'key=VALUE';
  const sources = [key].flat();
  return sources[0] === GLOBAL ? GLOBAL : sources.map((source) => `${prefixOf(source)}=VALUE`).join();
}

/** Names the client that an address is of, as {@link KeyContext.clientIp} does; `undefined` for other texts. */
export type NameOfAddress = (address: string) => string | undefined;

/** How a key names the subject that a text stands for; `undefined` when it names none so, nor one like it. */
export function subjectAsNamed(key: Key<never>, subject: string, nameOf: NameOfAddress): string | undefined {
  if (subjectForm(key) === GLOBAL) return subject === GLOBAL ? subject : undefined;
  if (subject === ANONYMOUS) return subject;
  const prefixes = typeof key === 'function' ? ['key'] : [key].flat().map(prefixOf);
  if (prefixes.length === 1) return partAsNamed(subject, prefixes[0] as string, nameOf);
  const parts = subject.split(',');
  if (parts.length !== prefixes.length || parts.every((part, i) => part === prefixes[i])) return undefined;
  const named = parts.map((part, i) => (part === prefixes[i] ? part : joinedAsNamed(part, prefixes[i] ?? '', nameOf)));
  return named.includes(undefined) ? undefined : named.join();
}

/** A percent sign is only ever written by the escape. */
function joinedAsNamed(part: string, prefix: string, nameOf: NameOfAddress): string | undefined {
  return /%(?!25|2C)/.test(part.slice(prefix.length)) ? undefined : partAsNamed(part, prefix, nameOf);
}

function partAsNamed(part: string, prefix: string, nameOf: NameOfAddress): string | undefined {
  const start = `${prefix}=`;
  if (!part.startsWith(start) || part === start) return undefined;
  if (prefix !== 'ip') return part;
  const [address = '', bits] = part.slice(start.length).split(/(?=\/)/);
  const name = nameOf(address);
  // A network is no client, except that of IPv6 which is one.
  return name === undefined || (bits !== undefined && !name.includes('/')) ? undefined : start + name;
}

const isFilled = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** Parameters of the path that a key needs: every pattern that it is used with must have them. */
export function pathParamsOf(key: Key<never>): readonly string[] {
  const sources = typeof key === 'function' ? [] : [key].flat();
  return sources.filter((source) => source.startsWith('path:')).map((source) => source.slice(5));
}

function parsePart(
  source: unknown,
  field: string,
  { clientIp }: Pick<KeyContext, 'clientIp'>,
  expected = EXPECTED,
): Part {
  if (source === 'ip') return { prefix: 'ip', read: clientIp };
  const [, kind = '', written = ''] = (typeof source === 'string' && /^([a-z]+):(.+)$/s.exec(source)) || [];
  const reader = Object.hasOwn(readers, kind) ? readers[kind] : undefined;
  if (reader === undefined) throw refusal(field, `${expected}, got ${show(source)}`);
  if ((kind === 'header' || kind === 'cookie') && !/^[!#$%&'*+.^`|~\w-]+$/.test(written)) {
    throw refusal(field, `${show(written)} cannot be the name of a ${kind}`);
  }
  const name = kind === 'header' ? written.toLowerCase() : written;
  return { prefix: prefixOf(source as string), read: reader(name) };
}

/** Start of the subjects of a source that has been understood. */
function prefixOf(source: string): string {
  const colon = source.indexOf(':');
  if (colon < 0) return source;
  const name = source.slice(colon + 1);
  return `${source.slice(0, colon)}.${source.startsWith('header:') ? name.toLowerCase() : name}`;
}

function refuseRepeated(parts: readonly Part[], field: string): void {
  parts.forEach(({ prefix }, i) => {
    const first = parts.findIndex((part) => part.prefix === prefix);
    if (first !== i) throw refusal(`${field}[${i}]`, `the same source as ${field}[${first}]`);
  });
}

function single({ prefix, read }: Part): SubjectOf {
  const start = `${prefix}=`;
  return (view, params) => {
    const value = read(view, params);
    return value === undefined ? ANONYMOUS : start + value;
  };
}

/**
 * Parts joined by commas; commas inside values are escaped, and a missing part is its bare name, so
 * different parts never make the same subject. Without any part the request is anonymous.
 */
function composite(parts: readonly Part[]): SubjectOf {
  return (view, params) => {
    let found = false;
    let subject = '';
    for (const { prefix, read } of parts) {
      const value = read(view, params);
      if (subject !== '') subject += ',';
      subject += value === undefined ? prefix : `${prefix}=${escapeCommas(value)}`;
      found ||= value !== undefined;
    }
    return found ? subject : ANONYMOUS;
  };
}

function escapeCommas(value: string): string {
  return /[%,]/.test(value) ? value.replaceAll('%', '%25').replaceAll(',', '%2C') : value;
}

/** Texts, finite numbers and bigints are subjects; nothing, and values that would lump people together, are not. */
function fromFunction<Request>(key: (view: RequestView<Request>) => unknown, context: KeyContext): SubjectOf<Request> {
  const { field, report } = context;
  return (view) => {
    try {
      const value = unawaited(key(view));
      if (value === undefined || value === null) return ANONYMOUS;
      if (typeof value === 'string' ? value !== '' : typeof value === 'bigint' || Number.isFinite(value))
        return `key=${value}`;
      report(
        refusal(field, `the function returned ${show(value)}, which cannot be a subject; counted as ${ANONYMOUS}`),
      );
    } catch (error) {
      report(refusal(field, `the function failed: ${messageOf(error)}; counted as ${ANONYMOUS}`));
    }
    return ANONYMOUS;
  };
}

/** What a caught value says, in one line. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : show(error);
}

function refusal(field: string, message: string): ComportaError {
  return new ComportaError('ERR_KEY', `${field}: ${message}`, field);
}
