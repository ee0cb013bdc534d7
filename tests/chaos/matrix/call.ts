import type { DegradedCause, DenialReason, FailureMode } from 'comporta';
import type { ClientName } from './clients.js';
import type { Place, SlotRange } from './ground.js';

export const TIMEOUT_MS = 50;
/** Units that a subject may take in an hour: never reached by a new subject, soon by the hot one. */
export const LIMIT = 20;
export const modes: readonly FailureMode[] = ['local', 'open', 'closed'];

export interface LoadArgs {
  readonly client: ClientName;
  readonly place: Place;
  /** Slots that the fault concerns; all when there are none. */
  readonly slots: readonly SlotRange[];
  readonly everyMs: number;
}

/** One request and its answer. */
export interface Call {
  /** Its policy has the same name. */
  readonly mode: FailureMode;
  readonly subject: string;
  /** The one subject that is asked for again and again. */
  readonly isHot: boolean;
  /** Of a shard that the fault does not concern. */
  readonly isHealthy: boolean;
  readonly sentUs: number;
  readonly tookMs: number;
  /** How long the process stood still meanwhile. */
  readonly stalledMs: number;
  readonly allowed: boolean;
  readonly reason: DenialReason | undefined;
  readonly cause: DegradedCause | undefined;
  readonly degradedMode: FailureMode | undefined;
  readonly detail: string | undefined;
}

export interface Load {
  readonly calls: readonly Call[];
  /** What still kept the process alive after all was closed. */
  readonly leftOver: readonly string[];
}
