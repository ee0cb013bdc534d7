export type { Limit, Param } from './algorithms/algorithm.js';
export {
  type ConcurrencySettings,
  concurrency,
  type FixedWindowSettings,
  fixedWindow,
  type LimitKind,
  limitKinds,
  type QuotaSettings,
  quota,
  type SlidingWindowSettings,
  slidingWindow,
  slidingWindowCounter,
  type TokenBucketSettings,
  tokenBucket,
  type WindowSettings,
} from './algorithms/limits.js';
export type { Decision, Degraded, DegradedCause, DenialReason, FailureMode, LimitState } from './core/decision.js';
export { type Duration, durationMs, formatDuration } from './core/duration.js';
export { ComportaError, type ErrorCode, isComportaError } from './core/errors.js';
export type {
  BreakerEvent,
  DecisionEvent,
  DeniedEvent,
  LeaseEvent,
  LimiterEvents,
  Listener,
  StoreFailure,
} from './core/events.js';
export type { Clock } from './core/time.js';
export { StoreError } from './core/waiting.js';
export { type Check, type Combined, decideAll, decideEach, type ReservedAll, reserveAll } from './limiter/combine.js';
export { createLimiter } from './limiter/create.js';
export type { AcquireOptions, Lease } from './limiter/lease.js';
export { type LeaseBound, type LeaseSettings, leaseBounds } from './limiter/lease-rule.js';
export type { BlockSettings, CallOptions, Limiter, LimiterOptions } from './limiter/limiter.js';
export type { Reservation, ReserveOptions, Settlement } from './limiter/reservation.js';
export { type SplitLoss, type SplitSettings, splitLosses } from './limiter/split-rule.js';
export type { Override } from './limiter/terms.js';
export type { WaitOptions } from './limiter/wait.js';
export { type MemoryStoreOptions, memoryStore } from './stores/memory.js';
export type { MaybePromise, Plan, PolicyStore, Store } from './stores/store.js';
