import type { Metadata, ServerInterceptingCall, ServerInterceptor } from '@grpc/grpc-js';
import { type GrpcCall, limitCall } from '../doors/grpc/call.js';
import { lacksPlacesOnly } from '../doors/grpc/places.js';
import { hostOfPeer, MessageView } from '../doors/messages/message-view.js';
import { type Gate, mount, type RateLimitOptions } from '../http/index.js';

export type { RateLimitOptions } from '../http/index.js';

type InterceptedCall = Parameters<ServerInterceptor>[1];

/** One call: what key, cost, count, allow and deny functions get as `request`. */
export interface GrpcRequest {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly metadata: Metadata;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  /** The server's side of the call: peer, deadline, certificate of the client. */
  readonly call: InterceptedCall;
}

/** Interceptor of a server that refuses calls over their limits. */
export interface RateLimitInterceptor extends ServerInterceptor {
  readonly gate: Gate<GrpcRequest>;
  close(): Promise<void>;
}

/** Makes it: `new Server({ interceptors: [rateLimit({ ... })] })`. Throws when an option is wrong. */
export function rateLimit(options: RateLimitOptions<GrpcRequest>): RateLimitInterceptor {
  const { gate, check } = mount(options);
  const places = lacksPlacesOnly(options);
  const interceptor: ServerInterceptor = ({ path, requestStream, responseStream }, call) => {
    const decide = (given: unknown) => {
      const metadata = given as Metadata;
      return check(call, viewOf({ path, metadata, requestStream, responseStream, call }));
    };
    limitCall(call as unknown as GrpcCall, decide, places);
    return call as ServerInterceptingCall;
  };
  return Object.assign(interceptor, { gate, close: () => gate.close() });
}

function viewOf(request: GrpcRequest): MessageView<GrpcRequest> {
  const { path, metadata, call } = request;
  const header = (name: string): readonly string[] =>
    name === 'host' ? [call.getHost()] : metadata.get(name).filter((value) => typeof value === 'string');
  return new MessageView(request, path, addressOf(call), header);
}

/** Older versions tell the peer only as a text. */
function addressOf(call: InterceptedCall): string | undefined {
  const info = (call as Partial<InterceptedCall>).getConnectionInfo?.();
  return info?.remoteAddress ?? hostOfPeer(call.getPeer());
}
