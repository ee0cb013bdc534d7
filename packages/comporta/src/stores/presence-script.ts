import type { Script } from '../algorithms/compose.js';
import { sha1Hex } from '../core/hash.js';
import { TTL_MS } from './presence.js';

// Apart, so that what is bundled without Redis has no script in it.

/** Above so many processes the remainder of a limit is not worth finding out one's rank. */
const RANKED_MAX = 200;

const TEXT = `#!lua
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local parts = {}
for i, key in ipairs(KEYS) do
redis.call('ZREMRANGEBYSCORE', key, '-inf', now - ${TTL_MS})
redis.call('ZADD', key, now, ARGV[1])
redis.call('PEXPIRE', key, ${TTL_MS})
local count, rank = redis.call('ZCARD', key), 0
if count > ${RANKED_MAX} then
rank = count
else
for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
if member < ARGV[1] then rank = rank + 1 end
end
end
parts[2 * i - 1], parts[2 * i] = count, rank
end
return parts
`;

/** Says that a process uses some policies, a key each, and answers how many processes do and its rank among them. */
export const PRESENCE_SCRIPT: Script = { text: TEXT, sha: sha1Hex(TEXT) };
