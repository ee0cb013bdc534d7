import type { Duration } from '../core/duration.js';

/**
 * The contract of an algorithm. Each exists twice, here and in Lua, and both must give the same
 * numbers. Only whole numbers below 2^53 take part, so the two agree bit for bit.
 */
export interface Algorithm<State = unknown> {
  readonly name: string;
  /** Short name at the end of every key. */
  readonly tag: string;
  /** Unit of `now`: whole milliseconds, or microseconds for the exact log. */
  readonly clock: 'ms' | 'us';
  /** Names of the numeric arguments, in the order of `args` here and of the parameters in Lua. */
  readonly args: readonly string[];
  /** Settings a person writes: the source of validation, JSON Schema, help and docs. */
  readonly params: Readonly<Record<string, Param>>;
  /** Turns validated settings (durations in ms) into `args`; throws when they do not fit together. */
  compile(settings: Readonly<Record<string, number>>): CompiledLimit;
  /** Reads only. `undefined` is the state of a subject never seen. */
  evaluate(state: State | undefined, now: number, cost: number, args: readonly number[]): Evaluation<State>;
  /**
   * Charges `cost` in place: afterwards the evaluation holds the state to store and its new numbers.
   * With cost 0 it only makes the state fit a clock that stepped back.
   */
  commit(evaluation: Evaluation<State>, now: number, cost: number, args: readonly number[]): void;
  /** Gives `amount` back of a charge made at `atUs`; `undefined` when nothing is left to give back. */
  refund(state: State, now: number, amount: number, atUs: number, args: readonly number[]): Refunded<State> | undefined;
  /** How many memory units a state takes; 1 unless it grows with use. */
  sizeOf?(state: State): number;
}

/** One setting of an algorithm. Ranges are inclusive; durations are in ms. */
export interface Param {
  readonly kind: 'integer' | 'duration' | 'choice';
  readonly doc: string;
  readonly min?: number;
  readonly max?: number;
  readonly choices?: readonly string[];
  /** Used when the setting is left out; without it the setting is required. */
  readonly default?: number | string;
}

export interface CompiledLimit {
  readonly args: readonly number[];
  /** Largest cost that can ever be admitted. */
  readonly limit: number;
  /** Window, or time to fill an empty bucket, in ms. */
  readonly windowMs: number;
}

/** What an algorithm says of a request before anything is charged. */
export interface Evaluation<State> {
  state: State;
  remaining: number;
  /** 0: admitted; above 0: ms to wait; -1: never. */
  retryAfterMs: number;
  resetAfterMs: number;
  nextAfterMs: number;
  /** The clock stands before the stored time: the state must be stored again even when refused. */
  stepped: boolean;
  /** Set by `commit`: how long the stored state stays useful, margin included. */
  ttlMs: number;
}

export interface Refunded<State> {
  readonly state: State;
  readonly ttlMs: number;
}

/** Kept beyond the moment a state equals a fresh one, so that expiry never races with arithmetic. */
export const TTL_MARGIN_MS = 1000;

/** A limit as a policy holds it: an algorithm with its arguments and an id. */
export interface Limit extends CompiledLimit {
  readonly id: string | undefined;
  readonly algorithm: Algorithm;
  /** The settings as written, for messages and config listings. */
  readonly settings: Readonly<Record<string, Duration>>;
}
