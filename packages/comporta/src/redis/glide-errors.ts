import { StoreError } from '../core/waiting.js';

/** Names that GLIDE gives to the prefixes of server errors. */
const PREFIXES: Readonly<Record<string, string>> = {
  ResponseError: 'ERR',
  NoScriptError: 'NOSCRIPT',
  ExecAbortError: 'EXECABORT',
  BusyLoadingError: 'LOADING',
  Moved: 'MOVED',
  Ask: 'ASK',
  TryAgain: 'TRYAGAIN',
  ClusterDown: 'CLUSTERDOWN',
  CrossSlot: 'CROSSSLOT',
  MasterDown: 'MASTERDOWN',
  ReadOnly: 'READONLY',
  NotBusy: 'NOTBUSY',
  PermissionDenied: 'NOPERM',
};

const LOSSES: ReadonlySet<string> = new Set(['ConnectionError', 'ClosingError']);

/** True when the connection that was to carry a call is gone. */
export function isLoss(error: unknown): boolean {
  return error instanceof Error && (LOSSES.has(error.name) || NEVER_CONNECTED.test(error.message));
}

/** What a client made with `lazyConnect` answers while there is no server. */
const NEVER_CONNECTED = /connect failed|[Cc]onnection not found|Connection in recovery/;
/** Calls that GLIDE turned away. */
const TURNED_AWAY = /inflight requests|circuit breaker/;

/** An error of GLIDE so that one of the server begins with its prefix, as the server wrote it. */
export function glideError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const { name, message } = error;
  if (name === 'TimeoutError') return new StoreError('timeout', 'GLIDE: no answer within its requestTimeout');
  if (TURNED_AWAY.test(message)) return new StoreError('unavailable', `GLIDE: ${message}`, { isUnsent: true });
  const [, kind = '', rest] = /^(?:An error was signalled by the server: - )?(\w+): (.*)$/s.exec(message) ?? [];
  const prefix = PREFIXES[kind] ?? (/^[A-Z]+$/.test(kind) ? kind : undefined);
  return prefix === undefined ? error : new Error(`${prefix} ${rest}`);
}
