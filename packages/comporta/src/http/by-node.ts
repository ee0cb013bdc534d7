import { applyFields, type FieldTarget } from './apply.js';
import type { Verdict } from './gate.js';
import { onNodeEnd } from './node-end.js';
import { type NodeAnswer, NodeResponder } from './node-respond.js';
import type { NodeRequest } from './node-view.js';
import { respond } from './respond.js';
import { ALLOWED } from './verdict.js';

/** Node's own request and response, where a framework for web requests is served by Node. */
export interface NodePair {
  readonly req?: Pick<NodeRequest, 'socket'> | undefined;
  readonly res?: NodeHead | undefined;
}

type Fields = Record<string, unknown>;

/** A Node response, whose head is written by {@link NodeHead.writeHead}. */
export interface NodeHead extends NodeAnswer {
  writeHead(status: number, ...rest: readonly unknown[]): unknown;
}

/** Servers on Node have requests of a class of their own; a plain one was made by somebody inside of a handler. */
const isPlain = (request: object): boolean => Object.getPrototypeOf(request) === Request.prototype;

const isHead = (res: NodeHead | undefined): res is NodeHead =>
  typeof res?.writeHead === 'function' && typeof res.once === 'function';

/**
 * The same verdict without what Node does itself where it serves an allowed request: it carries the fields, which
 * takes a tenth of the time that web headers take, and sees the end of every response, so that a text need not
 * become a stream for it. Elsewhere, and for requests that a handler makes of its own application, as it is.
 */
export function doneByNode(verdict: Verdict, request: object, { req, res }: NodePair = {}): Verdict {
  if (!verdict.allowed || isPlain(request) || !req || !isHead(res)) return verdict;
  carry(verdict, res);
  onNodeEnd(req, res, verdict.finish);
  return ALLOWED;
}

/**
 * As {@link doneByNode}, but the fields are set at once, which is cheapest: what is answered must be put through
 * {@link joinedWith}, for its own fields of the same names would take their place.
 */
export function setByNode(verdict: Verdict, request: object, { req, res }: NodePair = {}): Verdict {
  if (!verdict.allowed || isPlain(request) || !req || !isHead(res)) return verdict;
  respond(verdict, new NodeResponder(res));
  onNodeEnd(req, res, verdict.finish);
  return ALLOWED;
}

/** Sets the fields when the head is written: then it is known what others have set. */
function carry(verdict: Verdict, res: NodeHead): void {
  if (verdict.headers.length === 0) return;
  const { writeHead } = res;
  res.writeHead = (status, ...rest) => {
    if (status < 200 || res.headersSent) return writeHead.call(res, status, ...rest);
    const at = rest.findIndex((part) => typeof part === 'object' && part !== null);
    const parts = [...rest];
    const own: FieldTarget = { get: (name) => res.getHeader(name), set: (name, value) => res.setHeader(name, value) };
    if (at < 0) applyFields(verdict, own);
    else parts[at] = withFields(verdict, rest[at] as object, own);
    return writeHead.call(res, status, ...parts);
  };
}

/** The fields that are given with a head, ours among them; those that Node has already count too. */
function withFields(verdict: Verdict, given: object, own: FieldTarget): object {
  const [fields, target] = Array.isArray(given) ? inList(given) : inRecord(given as Fields);
  applyFields(verdict, { get: (name) => target.get(name) ?? own.get(name), set: target.set });
  return fields;
}

/** A list has names and values in turns. */
function inList(given: readonly unknown[]): readonly [object, FieldTarget] {
  const list = [...given];
  const places = (name: string): number[] =>
    list.flatMap((part, i) => (i % 2 === 0 && String(part).toLowerCase() === name ? [i] : []));
  const get = (name: string): unknown => {
    const found = places(name).map((i) => list[i + 1]);
    return found.length === 0 ? undefined : found.join(', ');
  };
  const set = (name: string, value: string): void => {
    for (const i of places(name).reverse()) list.splice(i, 2);
    list.push(name, value);
  };
  return [list, { get, set }];
}

function inRecord(given: Fields): readonly [object, FieldTarget] {
  const record: Fields = { ...given };
  const names = Object.keys(given);
  const spelt = (name: string): string => {
    for (const own of names) if (own.length === name.length && own.toLowerCase() === name) return own;
    return name;
  };
  const set = (name: string, value: string): void => {
    record[spelt(name)] = value;
  };
  return [record, { get: (name) => record[spelt(name)], set }];
}
