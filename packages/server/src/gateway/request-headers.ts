import type { IncomingMessage } from 'node:http';
import { plainAddress } from './trust.js';

/** Belong to one connection, not to the message (RFC 9110 7.6.1), or are written anew for the upstream. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Framing and routing: naming them in Connection removes nothing. */
const NEVER_DROPPED: ReadonlySet<string> = new Set(['close', 'keep-alive', 'upgrade', 'content-length', 'te', '']);

export interface Forwarding {
  /** The peer is a proxy whose word counts. */
  readonly isTrusted: boolean;
  /** Header in which trusted proxies name the client; never taken from anybody else. */
  readonly clientHeader: string;
  readonly preserveHost: boolean;
}

/** The headers that the upstream gets, as a flat list of names and values. */
export function upstreamHeaders(request: IncomingMessage, forwarding: Forwarding): string[] {
  const { rawHeaders, headers } = request;
  const named = namedIn(headers.connection);
  const list: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i] as string;
    const name = raw.toLowerCase();
    if (HOP_BY_HOP.has(name) || isForwarded(name, forwarding) || named?.has(name) === true) continue;
    list.push(raw, rawHeaders[i + 1] as string);
  }
  if (forwarding.preserveHost) list.push('host', headers.host ?? '');
  if (headers.te?.includes('trailers') === true) list.push('te', 'trailers');
  addForwarded(list, request, forwarding);
  return list;
}

/** Header names that a Connection field ties to this connection; `undefined` when there are none. */
export function namedIn(connection: string | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined;
  const names = connection.split(',').map((name) => name.trim().toLowerCase());
  const dropped = names.filter((name) => !NEVER_DROPPED.has(name));
  return dropped.length === 0 ? undefined : new Set(dropped);
}

/** Forwarding headers that are written anew, or that an untrusted peer has no business to send. */
function isForwarded(name: string, { isTrusted, clientHeader }: Forwarding): boolean {
  if (name.startsWith('x-forwarded-')) {
    return !isTrusted || name === 'x-forwarded-for' || name === 'x-forwarded-proto' || name === 'x-forwarded-host';
  }
  return !isTrusted && (name === 'forwarded' || name === 'x-real-ip' || name === clientHeader);
}

function addForwarded(
  list: string[],
  { headers, socket }: IncomingMessage,
  { isTrusted, clientHeader }: Forwarding,
): void {
  const peer = plainAddress(socket.remoteAddress);
  const chain = isTrusted ? joined(headers['x-forwarded-for']) : undefined;
  list.push('x-forwarded-for', chain === undefined ? peer : `${chain}, ${peer}`);
  list.push('x-forwarded-proto', (isTrusted ? joined(headers['x-forwarded-proto']) : undefined) ?? 'http');
  list.push('x-forwarded-host', (isTrusted ? joined(headers['x-forwarded-host']) : undefined) ?? headers.host ?? '');
  // A second line of one list (RFC 7239): the trusted proxies' elements stand before it.
  if (clientHeader === 'forwarded') list.push('forwarded', `for=${peer.includes(':') ? `"[${peer}]"` : peer}`);
}

function joined(value: string | readonly string[] | undefined): string | undefined {
  return value === undefined || typeof value === 'string' ? value : value.join(', ');
}
