import { type Limit, slidingWindow } from 'comporta';

export interface FailoverArgs {
  readonly client: 'url' | 'ioredis';
  readonly url: string;
  readonly ports: readonly number[];
  readonly policy: string;
  readonly subjects: readonly string[];
  readonly timeoutMs: number;
  /** One call so often, whatever becomes of the others. */
  readonly everyMs: number;
}

export interface Call {
  readonly subject: string;
  readonly sentUs: number;
  readonly tookMs: number;
  readonly allowed: boolean;
  readonly cause?: string;
  readonly detail?: string;
  /** How much of the time the process stood still. */
  readonly stalledMs: number;
}

export const LIMIT = 100_000;

/** Nothing reaches it, so what is left tells what was charged. */
export const limitsOf = (): Limit => slidingWindow({ limit: LIMIT, window: '1d' });
