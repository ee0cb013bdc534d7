#!lua
local cost, limit, window = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local now = math.floor(us / 1000)
local start = now - now % window
local current, previous, stepped = 0, 0, false
local value = redis.call('GET', KEYS[1])
if value then
  local storedStart, storedCurrent, storedPrevious = struct.unpack('ddd', value)
  stepped = now < storedStart
  local passed = start - storedStart
  if passed <= 0 then
    current, previous = storedCurrent, storedPrevious
  elseif passed <= window then
    previous = storedCurrent
  end
end
local offset = now - start
local function waitFor(wanted)
  if wanted > limit then return -1 end
  local room = (limit - wanted - current) * window
  if wanted == 0 or room >= previous * (window - offset) then return 0 end
  local fitsAt = window
  if room >= 0 then fitsAt = window - math.floor(room / previous) end
  if fitsAt < window then return fitsAt - offset end
  local nextFitsAt = 0
  if current > 0 then nextFitsAt = math.max(0, window - math.floor((limit - wanted) * window / current)) end
  return window - offset + nextFitsAt
end
local retry = waitFor(cost)
if retry == 0 then current = current + cost end
if retry == 0 or stepped then
  redis.call('SET', KEYS[1], struct.pack('ddd', start, current, previous), 'PX', 2 * window - offset + 1000)
end
local remaining = math.max(0, math.floor((limit * window - current * window - previous * (window - offset)) / window))
local reset, nextAfter = 0, 0
if current > 0 then reset = 2 * window - offset elseif previous > 0 then reset = window - offset end
if remaining < limit then nextAfter = waitFor(remaining + 1) end
return { us, remaining, retry, reset, nextAfter }
