import { backOffMs } from './back-off.js';

/** Options of one connection: fails at once instead of queueing, never sends a command twice. */
export interface IoredisPreset {
  readonly enableOfflineQueue: false;
  readonly autoResendUnfulfilledCommands: false;
  readonly maxRetriesPerRequest: 0;
  readonly connectTimeout: number;
  readonly commandTimeout: number;
  readonly sentinelCommandTimeout: number;
  readonly disconnectTimeout: number;
  readonly maxLoadingRetryTime: number;
  readonly keepAlive: number;
  readonly noDelay: true;
  readonly retryStrategy: (attempt: number) => number;
}

/** For `new Redis({ host, port, ...ioredisPreset })`. */
export const ioredisPreset: IoredisPreset = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 1000,
  commandTimeout: 1000,
  // Without it, a Sentinel that is frozen is waited for without end.
  sentinelCommandTimeout: 1000,
  // `disconnect()` keeps a process alive for so long when there is no connection to end.
  disconnectTimeout: 100,
  // A server that loads its data says for how long still: up to ten seconds later it is asked again, otherwise.
  maxLoadingRetryTime: 500,
  keepAlive: 5000,
  noDelay: true,
  retryStrategy: backOffMs,
};

/** Options of a cluster: as {@link IoredisPreset}, and a slot map that is never older than a second. */
export interface IoredisClusterPreset {
  readonly enableOfflineQueue: false;
  readonly scaleReads: 'master';
  readonly maxRedirections: number;
  readonly retryDelayOnFailover: 0;
  readonly retryDelayOnClusterDown: 0;
  readonly retryDelayOnTryAgain: number;
  readonly slotsRefreshTimeout: number;
  readonly slotsRefreshInterval: number;
  readonly clusterRetryStrategy: (attempt: number) => number;
  readonly redisOptions: Omit<IoredisPreset, 'retryStrategy'>;
}

const { retryStrategy: _, ...nodeOptions } = ioredisPreset;

/** For `new Cluster(nodes, ioredisClusterPreset)`. */
export const ioredisClusterPreset: IoredisClusterPreset = {
  enableOfflineQueue: false,
  scaleReads: 'master',
  maxRedirections: 3,
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  retryDelayOnTryAgain: 5,
  slotsRefreshTimeout: 500,
  slotsRefreshInterval: 1000,
  clusterRetryStrategy: backOffMs,
  redisOptions: nodeOptions,
};
