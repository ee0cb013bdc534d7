import type { Part } from '../algorithms/algorithm.js';
import type { Script } from '../algorithms/compose.js';
import { sha1Hex } from '../core/hash.js';
import { PROCESS_ID } from '../core/process-id.js';

/** One process, as long as nothing is known of others. */
export const ALONE: Part = { processes: 1, rank: 0 };

/** A process says this often that it is alive, while it has traffic ... */
const EVERY_MS = 2000;
/** ... and counts for so long after it last did. */
const TTL_MS = 10_000;
/** Above so many processes the remainder of a limit is not worth finding out one's rank. */
const RANKED_MAX = 200;

const TEXT = `#!lua
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ${TTL_MS})
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], ${TTL_MS})
local count, rank = redis.call('ZCARD', KEYS[1]), 0
if count > ${RANKED_MAX} then return { count, count } end
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
if member < ARGV[1] then rank = rank + 1 end
end
return { count, rank }
`;

/** Says that this process is alive and answers how many are. One small write per process every few seconds. */
export const PRESENCE_SCRIPT: Script = { text: TEXT, sha: sha1Hex(TEXT) };
export const PRESENCE_TAG = '%presence';
export const PRESENCE_ARGUMENTS: readonly string[] = [PROCESS_ID];

/**
 * How many processes use a store, for shares of limits while it is away: then the last count holds.
 * Beats with traffic and has no timer, so it keeps no process alive and suits functions that freeze.
 */
export class Presence {
  readonly #beat: () => Promise<Part>;
  #part: Part = ALONE;
  #beatAtMs = 0;

  constructor(beat: () => Promise<Part>) {
    this.#beat = beat;
  }

  get part(): Part {
    return this.#part;
  }

  /** Call after an answer of the store, with its time. */
  touch(nowMs: number): void {
    if (Math.abs(nowMs - this.#beatAtMs) < EVERY_MS) return;
    this.#beatAtMs = nowMs;
    this.#beat().then(
      (part) => {
        this.#part = part;
      },
      // The count is of no use while the store answers; the next beat will do.
      () => undefined,
    );
  }
}
