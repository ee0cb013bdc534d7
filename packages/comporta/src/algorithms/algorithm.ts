import type { Duration } from '../core/duration.js';

/**
 * The contract of an algorithm. Each exists twice, here and in Lua, and both must give the same
 * numbers. Only whole numbers below 2^53 take part, so the two agree bit for bit.
 */
/** A charge that is given back together with others. */
export interface Due {
  readonly id: string;
  readonly cost: number;
  readonly atUs: number;
}

export interface Algorithm<State = unknown> {
  readonly name: string;
  /** Short name at the end of every key. */
  readonly tag: string;
  /** Unit of `now`: whole milliseconds, or microseconds for the exact log. */
  readonly clock: 'ms' | 'us';
  /** Where that is not one unit of its clock: the state changes with time only at multiples of so many µs. */
  stepUs?(args: readonly number[]): number;
  /** Names of the numeric arguments, in the order of `args` here and of the parameters in Lua. */
  readonly args: readonly string[];
  /**
   * Names of two of them: from which ms on, and up to which, all arguments of a limit hold. At any other
   * time a script writes nothing and answers the server's time alone; see `argsAt` of a limit.
   */
  readonly span?: readonly [from: string, until: string];
  /** Counts who holds a place, not what requests cost: a decision's id names its holder. */
  readonly holds?: true;
  /** Settings a person writes: the source of validation, JSON Schema, help and docs. */
  readonly params: Readonly<Record<string, Param>>;
  /** Turns validated settings (durations in ms, flags 0 or 1) into `args`; throws when they do not fit together. */
  compile(settings: Readonly<Record<string, number | string | undefined>>): CompiledLimit;
  /** Brings a state to `now` and says whether `cost` fits. Reads only; `undefined`: never seen. */
  evaluate(state: State | undefined, now: number, cost: number, args: readonly number[]): Evaluation<State>;
  /**
   * The state after a charge; may reuse the evaluated one, or `stored`, which that came from and nobody needs any
   * more: a record that is written again costs less than a new one. Cost 0 stores it as evaluated, after a clock step.
   */
  commit(state: State, now: number, cost: number, args: readonly number[], holder: string, stored?: State): State;
  /** Charges made at one time add up: decisions of one cost that all fit can be charged as one, and told by the sum. */
  readonly sum?: Sum<State>;
  /** What an evaluated or committed state means for a caller. */
  describe(state: State, now: number, args: readonly number[]): Description;
  /**
   * A state that describes itself so at `now`; of several the one that keeps its use longest, so that it
   * never admits what the described one would not.
   */
  assume(remaining: number, resetAfterMs: number, now: number, args: readonly number[]): State;
  /** Use runs out at one rate, however much of it there is. */
  readonly drains?: boolean;
  /** How long a state stays useful, margin included; `resetAfterMs` as it is described. */
  ttlMs(state: State, now: number, args: readonly number[], resetAfterMs: number): number;
  /** Gives `amount` back of a charge made at `atUs`; `undefined` when nothing is left to give back. */
  refund(
    state: State,
    now: number,
    amount: number,
    atUs: number,
    args: readonly number[],
    holder: string,
  ): State | undefined;
  /** As {@link Algorithm.refund} of each charge, as far as it is there; where one by one costs more. */
  refundAll?(state: State, now: number, charges: readonly Due[], args: readonly number[]): State | undefined;
  /** Where places are held: holds one for another lease; `undefined` when the holder has lost it. */
  renew?(state: State, now: number, args: readonly number[], holder: string): State | undefined;
  /** Gives `amount` of the newest use back; where left out, as a refund of a charge made now. */
  reward?(state: State, now: number, amount: number, args: readonly number[]): State | undefined;
  /** Largest cost that these arguments can ever admit. */
  capacity(args: readonly number[]): number;
  /** The arguments that give one process its part of the limit; at least `atLeast` as far as the limit has it. */
  share(args: readonly number[], part: Part, atLeast: number): readonly number[];
  /** How many memory units a state takes; 1 unless it grows with use. */
  sizeOf?(state: State): number;
}

/** How a charged state comes back from a script that charged it for several decisions at once. */
export interface Sum<State> {
  /** Names, in Lua, of the values of the state that are told. */
  readonly words: readonly string[];
  /** Each charge is stored by itself. */
  readonly isLog?: true;
  /** A state that describes itself as the one of these values did, when `rest` of what it was charged `now` was not. */
  before(values: readonly number[], rest: number, now: number, args: readonly number[]): State;
}

/** One setting of an algorithm. Ranges are inclusive; durations are in ms. */
export interface Param {
  readonly kind: 'integer' | 'duration' | 'choice' | 'text' | 'flag';
  readonly doc: string;
  readonly min?: number;
  readonly max?: number;
  readonly choices?: readonly string[];
  /** Used when the setting is left out; without it the setting is required, unless it is optional. */
  readonly default?: number | string | boolean;
  readonly optional?: true;
}

/** One process of several. */
export interface Part {
  readonly processes: number;
  /** From 0; decides who takes the remainder. */
  readonly rank: number;
}

export interface CompiledLimit {
  /** Of an algorithm whose arguments change with time: those at the epoch. Read them by `argumentsAt`. */
  readonly args: readonly number[];
  /** The arguments at a time in ms: the same list as long as they hold. */
  readonly argsAt?: (nowMs: number) => readonly number[];
  /** Largest cost that can ever be admitted. */
  readonly limit: number;
  /** Window, or time to fill an empty bucket, in ms. */
  readonly windowMs: number;
}

/** What an algorithm says of a request before anything is charged. */
export interface Evaluation<State> {
  readonly state: State;
  /** 0: admitted; above 0: ms to wait; -1: never. */
  readonly retryAfterMs: number;
  /** The clock stands before the stored time: the state must be stored again even when refused. */
  readonly stepped: boolean;
}

export interface Description {
  readonly remaining: number;
  /** Ms until the limit is as if unused. */
  readonly resetAfterMs: number;
  /** Ms until `remaining` grows; 0 when it is full. */
  readonly nextAfterMs: number;
}

/** Kept beyond the moment a state equals a fresh one, so that expiry never races with arithmetic. */
export const TTL_MARGIN_MS = 1000;

/** A limit as a policy holds it: an algorithm with its arguments and an id. */
export interface Limit extends CompiledLimit {
  readonly id: string | undefined;
  readonly algorithm: Algorithm;
  /** The settings as written, for messages and config listings. */
  readonly settings: Readonly<Record<string, Duration | boolean>>;
}

/** What a limit's algorithm is called with at a time. */
export function argumentsAt(limit: CompiledLimit, nowMs: number): readonly number[] {
  return limit.argsAt === undefined ? limit.args : limit.argsAt(nowMs);
}
