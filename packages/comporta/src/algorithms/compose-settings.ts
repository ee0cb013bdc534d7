import type { Limit } from './algorithm.js';

/** Scripts that set what the gates look at. They work on a full server too: they free, or are set by hand. */
type Text = (limits: readonly Limit[]) => string;

/** Shuts a subject out for the ms of the cost, 0 lets it in again. Keys: the block, the count of refusals. */
export const block: Text = () => `#!lua flags=allow-oom
local forMs = tonumber(ARGV[2])
redis.call('DEL', KEYS[2])
if forMs > 0 then
redis.call('SET', KEYS[1], '1', 'PX', forMs)
return { 0, 1 }
end
return { 0, redis.call('DEL', KEYS[1]) }
`;

/** Gives a subject terms of its own for the ms of the cost, or takes them away when that is 0; never a revision's. */
export const setTerms: Text = () => `#!lua flags=allow-oom
local forMs = tonumber(ARGV[2])
if forMs > 0 then
redis.call('SET', KEYS[1], ARGV[3], 'PX', forMs)
return { 0, 1 }
end
local stored = redis.pcall('GET', KEYS[1])
if type(stored) == 'string' and string.sub(stored, 1, 1) == 'r' then return { 0, 0 } end
return { 0, redis.call('DEL', KEYS[1]) }
`;
