import { onAbort } from '../../core/abort.js';
import { addressReader, type ClientAddress, runtimeAddress } from '../../http/client-address.js';
import type { RequestView } from '../../http/view.js';
import type { Outcome } from '../../policies/policy.js';
import { headerReader, MessageView } from '../messages/message-view.js';

/** One call of a procedure: what key, cost, count and allow functions get as `request`. */
export interface TrpcCall<Context = unknown> {
  readonly ctx: Context;
  readonly type: 'query' | 'mutation' | 'subscription';
  /** Such as `post.byId`. */
  readonly path: string;
  /** As the validators that stand before the limiter left it. */
  readonly input: unknown;
}

/** What adapters of tRPC, and their users, put into a context. */
interface Carried {
  readonly req?: { readonly headers?: unknown; readonly socket?: { readonly remoteAddress?: string } | null };
  readonly res?: unknown;
  readonly resHeaders?: unknown;
}

/** Stands for a call: each middleware gets another object, with the same way to read what the caller sent. */
export function callKey(call: TrpcCall & { readonly getRawInput?: unknown }): object {
  return typeof call.getRawInput === 'function' ? call.getRawInput : call;
}

const carriedOf = ({ ctx }: TrpcCall): Carried => Object(ctx) as Carried;

/** Makes views of calls; by default the client is the peer of `ctx.req`. Throws for wrong options. */
export function trpcViews<Context>(
  clientAddress: ClientAddress<[call: TrpcCall<Context>]> | undefined,
): (call: TrpcCall<Context>) => RequestView<TrpcCall<Context>> {
  const addressOf = addressReader<[call: TrpcCall<Context>]>(clientAddress, headersOf, peerOf);
  return (call) => new MessageView(call, `/${call.path}`, addressOf(call), headerReader(carriedOf(call).req?.headers));
}

/** Where the fields of a call's answer go: into `ctx.resHeaders`, or on `ctx.res`. */
export function trpcResponse(call: TrpcCall): unknown {
  const { resHeaders, res } = carriedOf(call);
  return resHeaders ?? res;
}

/** What is used of the result of a procedure. */
export interface TrpcResult<Failure> {
  readonly ok: boolean;
  readonly error?: Failure;
  readonly data?: unknown;
}

/**
 * The same result, whose end is told: that of an async iterable when it ends, or `signal` says that the client is
 * gone; of any other at once.
 */
export function trpcSettled<Failure, Result extends TrpcResult<Failure>>(
  result: Result,
  { call, finish }: Ending,
  statusOf: (error: Failure) => number,
): Result {
  const { ok, data, error } = result;
  const { signal } = call;
  const end = (status: number, aborted = signal?.aborted === true): void => finish({ status, aborted });
  if (!ok) end(statusOf(error as Failure));
  else if (isIterable(data) && isRead(call)) return { ...result, data: watched(data, signal, end, statusOf) };
  else end(200);
  return result;
}

interface Ending {
  readonly call: TrpcCall & { readonly signal?: AbortSignal | undefined };
  finish(outcome: Outcome): void;
}

const isIterable = (data: unknown): data is AsyncIterable<unknown> =>
  typeof data === 'object' && data !== null && Symbol.asyncIterator in data;

/**
 * False where an answer over HTTP was asked for in one piece: then tRPC refuses to send a stream, and nobody ever reads
 * or ends it. Calls from the server itself mostly have no signal.
 */
function isRead(call: Ending['call']): boolean {
  const { req } = carriedOf(call);
  if (call.type === 'subscription' || call.signal === undefined || req?.headers === undefined) return true;
  const read = headerReader(req.headers);
  const [stated] = read('trpc-accept');
  const listed = read('accept').flatMap((line) => line.split(','));
  return stated === undefined ? listed.some((type) => type.trim() === STREAM) : stated === STREAM;
}

/** How a client says that it takes answers in parts. */
const STREAM = 'application/jsonl';

function watched<Failure>(
  data: AsyncIterable<unknown>,
  signal: AbortSignal | undefined,
  end: (status: number, aborted?: boolean) => void,
  statusOf: (error: Failure) => number,
): AsyncIterable<unknown> {
  // A client that leaves before the first value: then nobody reads, and nothing below runs.
  const forget = signal === undefined ? () => undefined : onAbort(signal, () => end(200, true));
  const values = (async function* () {
    let isWhole = false;
    try {
      yield;
      const last: unknown = yield* data;
      isWhole = true;
      return last;
    } catch (error) {
      isWhole = true;
      end(statusOf(error as Failure));
      throw error;
    } finally {
      end(200, !isWhole);
      forget();
    }
  })();
  // Up to the bare yield: of a generator that was never begun a return() would run nothing.
  void values.next();
  return values;
}

function headersOf(call: TrpcCall): Headers {
  const read = headerReader(carriedOf(call).req?.headers);
  return { get: (name: string) => read(name)[0] ?? null } as Headers;
}

function peerOf(call: TrpcCall): string | undefined {
  const { req } = carriedOf(call);
  return req?.socket?.remoteAddress ?? (req?.headers instanceof Headers ? runtimeAddress(req as Request) : undefined);
}
