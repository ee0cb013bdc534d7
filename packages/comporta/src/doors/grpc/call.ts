import { globalValue } from '../../core/globals.js';
import { applyFields } from '../../http/apply.js';
import { chain } from '../../http/ask.js';
import type { Verdict } from '../../http/gate.js';
import { RateLimitRefusal } from '../../http/refusal-error.js';
import type { Outcome } from '../../policies/policy.js';
import type { MaybePromise } from '../../stores/store.js';
import { retryStatus } from './retry-info.js';

/** What is used of the metadata of a gRPC call. */
export interface GrpcMetadata {
  get(name: string): readonly (string | Uint8Array)[];
  set(name: string, value: string | Uint8Array): void;
  clone(): GrpcMetadata;
}

interface Status {
  readonly code?: number | null;
  readonly details?: string | null;
  readonly metadata?: GrpcMetadata | null;
}

interface Listener {
  onReceiveMetadata(metadata: GrpcMetadata): void;
  onReceiveMessage(message: unknown): void;
  onReceiveHalfClose(): void;
  onCancel(): void;
}

/** What is used of a call as interceptors of `@grpc/grpc-js` get it. */
export interface GrpcCall {
  start(listener: Listener): void;
  sendStatus(status: Status): void;
}

/** HTTP statuses of the gRPC codes from 0 on, as `google.rpc.Code` lists them. */
const HTTP_STATUSES = [200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401];

/** RESOURCE_EXHAUSTED, UNAVAILABLE and PERMISSION_DENIED, for the statuses of refusals. */
export const GRPC_CODES = { 403: 7, 429: 8, 503: 14 } as const;

/**
 * Puts a limiter in front of a call. The call object is made for this one call, and the server's own code sends
 * through it too when a deadline passes or a message is faulty: so its methods are replaced, not wrapped.
 */
export function limitCall(
  call: GrpcCall,
  decide: (metadata: GrpcMetadata) => MaybePromise<Verdict>,
  lacksPlacesOnly: (verdict: Verdict) => boolean,
): void {
  const [start, sendStatus] = [call.start.bind(call), call.sendStatus.bind(call)];
  let outcome: Outcome | undefined;
  let verdict: Verdict | undefined;
  let newMetadata: (() => GrpcMetadata) | undefined;
  const end = (ended: Outcome): void => {
    outcome ??= ended;
    verdict?.finish?.(outcome);
  };
  const complete = (status: Status): Status => {
    if (verdict === undefined || newMetadata === undefined) return status;
    const metadata = withFields(status.metadata?.clone() ?? newMetadata(), verdict);
    if (!verdict.allowed && !lacksPlacesOnly(verdict)) sayWhen(new RateLimitRefusal(verdict), metadata);
    return { ...status, metadata };
  };
  call.sendStatus = (status) => {
    sendStatus(complete(status));
    end({ status: HTTP_STATUSES[status.code ?? 2] ?? 500, aborted: false });
  };
  const onReceiveMetadata = (metadata: GrpcMetadata, next: () => void): void => {
    newMetadata = () => new (metadata.constructor as new () => GrpcMetadata)();
    void chain(decide(metadata), (decided) => {
      verdict = decided;
      // A caller that gave up meanwhile needs no answer.
      if (outcome !== undefined) verdict.finish?.(outcome);
      else if (verdict.allowed) next();
      else call.sendStatus(statusOf(new RateLimitRefusal(verdict)));
    });
  };
  call.start = (listener) =>
    start({
      onReceiveMetadata: (metadata) => onReceiveMetadata(metadata, () => listener.onReceiveMetadata(metadata)),
      onReceiveMessage: (message) => listener.onReceiveMessage(message),
      onReceiveHalfClose: () => listener.onReceiveHalfClose(),
      onCancel: () => {
        end({ status: 0, aborted: true });
        listener.onCancel();
      },
    });
}

const statusOf = ({ status, message }: RateLimitRefusal): Status => ({ code: GRPC_CODES[status], details: message });

/** The fields that HTTP has in its head. */
function withFields(metadata: GrpcMetadata, verdict: Verdict): GrpcMetadata {
  const headers = verdict.headers.filter(([name]) => !['content-type', 'cache-control'].includes(name));
  applyFields(
    { ...verdict, headers },
    { get: (name) => metadata.get(name), set: (name, value) => metadata.set(name, value) },
  );
  return metadata;
}

/** When to come back, in the ways that gRPC clients read and obey. */
function sayWhen({ status, message, retryAfterMs }: RateLimitRefusal, metadata: GrpcMetadata): void {
  // -1: do not try again.
  metadata.set('grpc-retry-pushback-ms', `${Math.ceil(retryAfterMs ?? -1)}`);
  if (retryAfterMs === undefined) return;
  const { from } = globalValue('Buffer') as { from(bytes: Uint8Array): Uint8Array };
  metadata.set('grpc-status-details-bin', from(retryStatus(GRPC_CODES[status], message, retryAfterMs)));
}
