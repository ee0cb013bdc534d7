#!lua
local cost, limit, window, aligned = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local now = math.floor(us / 1000)
local start, count, stepped = now, 0, false
if aligned == 1 then start = now - now % window end
local value = redis.call('GET', KEYS[1])
if value then
  local storedStart, storedCount = struct.unpack('dd', value)
  stepped = now < storedStart
  if stepped or now - storedStart < window then count = storedCount end
  if not stepped and count > 0 and aligned == 0 then start = storedStart end
end
local left, retry = start + window - now, 0
if cost > limit then
  retry = -1
elseif cost > math.max(0, limit - count) then
  retry = left
else
  count = count + cost
end
if retry == 0 or stepped then redis.call('SET', KEYS[1], struct.pack('dd', start, count), 'PX', left + 1000) end
local reset = 0
if count > 0 then reset = left end
return { us, math.max(0, limit - count), retry, reset, reset }
