import type { IncomingMessage } from 'node:http';
import type { Verdict } from 'comporta/http';

/** A request that the gateway has dealt with. */
export interface Served {
  readonly request: IncomingMessage;
  /** Route template, with its host where it has one; `none` where no route takes the request. */
  readonly route: string;
  /** 0 when the client went away before it was told one. */
  readonly status: number;
  /** From the arrival of the headers to the end of the answer; of a tunnel, to its end. */
  readonly durationMs: number;
  /** `undefined` when the request was answered before anybody was asked. */
  readonly verdict: Verdict | undefined;
}

/** Who wants to know what passes through the gateway: metrics, the access log. Must not throw. */
export interface GatewayObserver {
  served?(served: Served): void;
  /** The headers of an upstream's answer have come. */
  answered?(upstream: string, durationMs: number): void;
  /** An upstream did not answer, or not to the end. */
  failed?(upstream: string, cause: string): void;
}
