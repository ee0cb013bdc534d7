import { ComportaError } from '../core/errors.js';

/** Where GLIDE sends a command in a cluster. */
export type Route =
  | 'randomNode'
  | { readonly type: 'routeByAddress'; readonly host: string; readonly port: number }
  | { readonly type: 'primarySlotKey'; readonly key: string };

/** What this package needs of a `GlideClient` of `@valkey/valkey-glide` 2. */
export interface GlideLike {
  customCommand(args: string[], options?: { decoder?: 1 }): Promise<unknown>;
  close(): void;
}

/** What this package needs of a `GlideClusterClient`. */
export interface GlideClusterLike {
  customCommand(args: string[], options?: { decoder?: 1; route?: Route }): Promise<unknown>;
  ssubscribe: unknown;
  close(): void;
}

/** Options of a GLIDE client, single or cluster: waits for nothing longer than a decision does. */
export interface GlidePreset {
  readonly requestTimeout: number;
  readonly inflightRequestsLimit: number;
  readonly recoveryRequestsQueueSize: 0;
  readonly periodicChecks: 'disabled';
  readonly connectionBackoff: {
    readonly numberOfRetries: number;
    readonly factor: number;
    readonly exponentBase: number;
    readonly jitterPercent: number;
  };
  readonly advancedConfiguration: { readonly connectionTimeout: number };
}

/** For `createClient({ addresses, ...glidePreset })`. `requestTimeout` is to be the time limit of the policies. */
export const glidePreset: GlidePreset = {
  // A call that finds no connection waits so long for one, and is sent if one comes.
  requestTimeout: 50,
  inflightRequestsLimit: 20_000,
  recoveryRequestsQueueSize: 0,
  // The store asks for the map of slots itself; with these checks one frozen node stops the calls to all others.
  periodicChecks: 'disabled',
  connectionBackoff: { numberOfRetries: 3, factor: 50, exponentBase: 2, jitterPercent: 50 },
  advancedConfiguration: { connectionTimeout: 1000 },
};

/** What a client was made with, and whether it was closed; GLIDE keeps both from TypeScript only. */
export interface Inside {
  readonly isClosed?: boolean;
  readonly config?: {
    readonly addresses?: readonly { readonly host: string }[];
    readonly requestTimeout?: number;
    readonly recoveryRequestsQueueSize?: number;
    readonly periodicChecks?: unknown;
    readonly lazyConnect?: boolean;
    readonly addressResolver?: (host: string, port: number) => readonly [string, number];
  };
}

export function openInside(client: object): Inside {
  const inside = client as Inside;
  if (inside.isClosed === true)
    throw new ComportaError('ERR_CLIENT', 'redisStore: the GLIDE client is closed', 'store');
  return inside;
}

/** Longer than this a call may outlive its decision, where the time limit is what it is by default. */
const REQUEST_MS = 100;

export function warningsFor({ config = {} }: Inside, isCluster: boolean): string[] {
  const { requestTimeout = 250, recoveryRequestsQueueSize, periodicChecks } = config;
  const warnings: string[] = [];
  if (requestTimeout > REQUEST_MS) {
    warnings.push(
      `GLIDE: requestTimeout is ${requestTimeout} ms, so long after a call it may still be sent when a connection ` +
        'was lost, although its decision was made; set it to the time limit of the policies, as glidePreset does',
    );
  }
  if (isCluster && recoveryRequestsQueueSize !== 0) {
    warnings.push(
      'GLIDE: recoveryRequestsQueueSize is not 0, so that calls to sound shards wait while a lost one is reconnected',
    );
  }
  if (isCluster && periodicChecks !== 'disabled') {
    warnings.push(
      "GLIDE: periodicChecks are on, so that a frozen node can stop the calls to all others; set them to 'disabled', " +
        'for the store asks for the map of slots itself',
    );
  }
  return warnings;
}
