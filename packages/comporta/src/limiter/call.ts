import type { Emitter, LimiterEvents } from '../core/events.js';
import type { Clock } from '../core/time.js';
import type { ActionReply, Plan, StoreReply } from '../stores/store.js';
import type { CallOptions } from './limiter.js';
import type { Told } from './told.js';
import type { Variants } from './variants.js';
import type { WaitSettings } from './wait.js';

/** One decision that is asked for. */
export interface Call {
  readonly kind: 'consume' | 'peek' | 'take' | 'reserve';
  readonly subject: string;
  readonly cost: number;
  readonly id: string;
  readonly holdMs: number;
  readonly options: CallOptions | undefined;
  /** Listeners hear of the decision. */
  readonly isTold: boolean;
  /** When it began, for those who measure; `undefined` while nobody does. */
  readonly startedMs: number | undefined;
  /** Where terms may make it begin anew: when it began. */
  readonly sinceUs: number;
}

/** What was granted passes, whatever a further request would have to wait. */
export const granted = (reply: ActionReply): StoreReply =>
  reply.word > 0 ? { ...reply, numbers: reply.numbers.map((number, i) => (i % 4 === 1 ? 0 : number)) } : reply;

/** What a limiter is made of. */
export interface LimiterParts {
  readonly plan: Plan;
  readonly variants: Variants;
  readonly events: Emitter<LimiterEvents>;
  readonly told: Told;
  readonly waiting: WaitSettings;
  readonly clock: Clock;
  readonly timeoutMs: number;
  release(): Promise<void>;
}
