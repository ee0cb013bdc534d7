import type { TRPCError } from '@trpc/server';
import { callKey, type TrpcCall, type TrpcResult, trpcResponse, trpcSettled, trpcViews } from '../doors/trpc/call.js';
import {
  type ClientAddress,
  type Gate,
  mount,
  type RateLimitOptions,
  RateLimitRefusal,
  type Verdict,
  writeFields,
} from '../http/index.js';

export type { TrpcCall } from '../doors/trpc/call.js';
export { type ClientAddress, type RateLimitOptions, RateLimitRefusal } from '../http/index.js';

export type TrpcOptions<Context> = RateLimitOptions<TrpcCall<Context>> & {
  /** The peer of `ctx.req` by default; elsewhere name the platform, or say how. */
  readonly clientAddress?: ClientAddress<[call: TrpcCall<Context>]>;
};

/** Middleware of procedures that refuses calls over their limits. */
export interface TrpcMiddleware<Context> {
  <Result extends TrpcResult<TRPCError>>(
    call: TrpcCall<Context> & { readonly signal?: AbortSignal | undefined; next(): Promise<Result> },
  ): Promise<Result>;
  readonly gate: Gate<TrpcCall<Context>>;
  close(): Promise<void>;
}

/**
 * Makes the middleware: `t.procedure.use(rateLimit({ limits: tokenBucket({ ... }) }))`. Each call of a batch counts.
 * Throws when an option is wrong.
 */
export function rateLimit<Context = object>(options: TrpcOptions<Context>): TrpcMiddleware<Context> {
  const { clientAddress, ...others } = options;
  const { gate, check } = mount<TrpcCall<Context>>(others as RateLimitOptions<TrpcCall<Context>>);
  const viewOf = trpcViews(clientAddress);
  const middleware = async <Result extends TrpcResult<TRPCError>>(
    call: TrpcCall<Context> & { readonly signal?: AbortSignal | undefined; next(): Promise<Result> },
  ): Promise<Result> => {
    const verdict = await check(callKey(call), viewOf(call));
    writeFields(verdict, trpcResponse(call));
    if (!verdict.allowed) throw await errorOf(verdict);
    const { finish } = verdict;
    if (finish === undefined) return call.next();
    const { getHTTPStatusCodeFromError, getTRPCErrorFromUnknown } = await statuses();
    const statusOf = (error: unknown) => getHTTPStatusCodeFromError(getTRPCErrorFromUnknown(error));
    return trpcSettled(await call.next(), { call, finish }, statusOf);
  };
  return Object.assign(middleware, { gate, close: () => gate.close() });
}

async function errorOf(verdict: Verdict): Promise<TRPCError> {
  const refusal = new RateLimitRefusal(verdict);
  const { code, message } = refusal;
  return new (await import('@trpc/server')).TRPCError({ code, message, cause: refusal });
}

const statuses = async () => ({ ...(await import('@trpc/server')), ...(await import('@trpc/server/http')) });
