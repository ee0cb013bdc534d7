import { type NodeResponse, onNodeEnd } from '../../http/node-end.js';
import { type NodeRequest, NodeView } from '../../http/node-view.js';
import type { RequestView } from '../../http/view.js';
import type { Outcome } from '../../policies/policy.js';
import { headerReader, hostOfPeer, MessageView, type ReadHeader } from '../messages/message-view.js';

/** What is used of Nest's `ExecutionContext`. */
export interface NestContext {
  getType(): string;
  getArgs(): readonly unknown[];
  getHandler(): unknown;
  getClass(): unknown;
}

/** One call of a handler, of whatever kind. */
export interface NestCall<Context> {
  readonly view: RequestView<Context>;
  /** The platform's response, where there is one. */
  readonly response?: unknown;
  /** Tells `finish` how the call ended; at once where nobody sees that. */
  onEnd(finish: ((outcome: Outcome) => void) | undefined): void;
}

/** What is read of the many things that Nest passes to handlers. */
interface Loose extends Partial<NodeRequest> {
  readonly raw?: NodeRequest & NodeResponse;
  readonly originalUrl?: string;
  readonly route?: { readonly path?: unknown };
  readonly routeOptions?: { readonly url?: string };
  readonly req?: Loose;
  readonly request?: Loose;
  readonly res?: Loose;
  readonly reply?: Loose;
  readonly extra?: Loose;
  readonly handshake?: { readonly headers?: unknown; readonly address?: string };
  readonly _socket?: { readonly remoteAddress?: string };
  get?(name: string): readonly unknown[];
  getPeer?(): unknown;
  getPath?(): unknown;
  getPattern?(): unknown;
}

/** Reads a call by its kind; never throws for what a context does not have. */
export function callOf<Context extends NestContext>(context: Context): NestCall<Context> {
  const args = context.getArgs();
  const [first, second, third] = args as readonly (Loose | null | undefined)[];
  const kind = context.getType();
  if (kind === 'http') return httpCall(context, first, second);
  if (kind === 'graphql') return graphqlCall(context, third ?? {});
  if (kind === 'ws') return messageCall(context, socketParts(first ?? {}, args.at(-1)));
  return messageCall(context, kind === 'rpc' ? rpcParts(second, third) : {});
}

function httpCall<Context>(
  context: Context,
  request: Loose | null | undefined,
  response: Loose | null | undefined,
): NestCall<Context> {
  const raw = request?.raw ?? request;
  if (!request || !raw?.headers) return messageCall(context, {});
  const route = request.routeOptions?.url ?? request.route?.path;
  const url = request.originalUrl ?? raw.url;
  const view = new NodeView(raw as NodeRequest, context, url, typeof route === 'string' ? route : undefined);
  const node = (response?.raw ?? response) as NodeResponse | null | undefined;
  const onEnd: NestCall<Context>['onEnd'] =
    typeof node?.once === 'function' ? (finish) => onResponseEnd(raw, node, finish) : endAtOnce;
  return { view, response, onEnd };
}

const ending: WeakMap<NodeResponse, ((outcome: Outcome) => void)[]> = new WeakMap();

/** One listener per response, however many fields of a query it answers. */
function onResponseEnd(raw: Loose, response: NodeResponse, finish: ((outcome: Outcome) => void) | undefined): void {
  if (finish === undefined) return;
  const runs = ending.get(response);
  if (runs !== undefined) {
    runs.push(finish);
    return;
  }
  const all = [finish];
  ending.set(response, all);
  onNodeEnd(raw, response, (outcome) => {
    ending.delete(response);
    for (const run of all) run(outcome);
  });
}

/** Drivers put the request, and some the response, into the context of a query; subscriptions have a socket's. */
function graphqlCall<Context>(context: Context, given: Loose): NestCall<Context> {
  const { req = given.request, res = req?.res, reply = res, extra = req?.extra } = given;
  const request = req?.headers === undefined ? (extra?.request ?? req) : req;
  return httpCall(context, request, reply);
}

/** What a message tells; all of it may be missing. */
interface MessageParts {
  readonly headers?: ReadHeader;
  readonly address?: string | undefined;
  readonly path?: unknown;
}

/** Socket.IO keeps the handshake; of a bare WebSocket only the address is known, unless its request was kept. */
function socketParts({ handshake, request, _socket }: Loose, pattern: unknown): MessageParts {
  const address = handshake?.address ?? request?.socket?.remoteAddress ?? _socket?.remoteAddress;
  return { address, headers: headerReader(handshake?.headers ?? request?.headers), path: pathFrom(pattern) };
}

/** Of the transports only gRPC tells the peer, and has metadata as other protocols have headers. */
function rpcParts(about: Loose | null | undefined, call: Loose | null | undefined): MessageParts {
  if (typeof call?.getPeer !== 'function') return { path: pathFrom(about?.getPattern?.()) };
  const headers: ReadHeader = (name) => (about?.get?.(name) ?? []).filter((value) => typeof value === 'string');
  return { address: hostOfPeer(call.getPeer()), headers, path: call.getPath?.() };
}

/** The name of a message as a path; where it comes last among the arguments, something else may. */
const pathFrom = (pattern: unknown): string => (typeof pattern === 'string' ? `/${pattern}` : '/');

function messageCall<Context>(context: Context, { headers, address, path }: MessageParts): NestCall<Context> {
  const view = new MessageView(context, typeof path === 'string' ? path : '/', address, headers ?? (() => []));
  return { view, onEnd: endAtOnce };
}

const endAtOnce: NestCall<unknown>['onEnd'] = (finish) => finish?.({ status: 200, aborted: false });
