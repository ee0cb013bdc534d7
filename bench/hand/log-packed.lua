#!lua
-- One string, read and written whole: entries of time (7 bytes) and running total (4), the first the last that left.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local cost, limit, window = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local key = KEYS[1]
local clock, used, total, firstAt, lastAt, first, retry = now, 0, 0, now, now, 0, 0
local log = redis.call('GET', key)
if log then
  lastAt, total = struct.unpack('>I7I4', log, #log - 10)
  if lastAt > now then clock = lastAt end
  if clock - lastAt < window then
    local low, high = 1, #log / 11 - 1
    if struct.unpack('>I7', log, 12) > clock - window then
      high = 1
    elseif high > 2 and struct.unpack('>I7', log, 23) > clock - window then
      low, high = 2, 2
    end
    while low < high do
      local middle = math.floor((low + high) / 2)
      if struct.unpack('>I7', log, middle * 11 + 1) > clock - window then high = middle else low = middle + 1 end
    end
    local _, base = struct.unpack('>I7I4', log, low * 11 - 10)
    first, firstAt = low, struct.unpack('>I7', log, low * 11 + 1)
    used = total - base
  end
end
if cost > limit then
  retry = -1
elseif used + cost > limit then
  local at = firstAt
  if used + cost - limit > 1 then
    local low, high, target = first, #log / 11 - 1, total - limit + cost
    while low < high do
      local middle = math.floor((low + high) / 2)
      local _, sum = struct.unpack('>I7I4', log, middle * 11 + 1)
      if sum >= target then high = middle else low = middle + 1 end
    end
    at = struct.unpack('>I7', log, low * 11 + 1)
  end
  retry = math.ceil((at + window - clock) / 1000)
else
  if used == 0 then
    total, firstAt = 0, now
    log = '\0\0\0\0\0\0\0\0\0\0\0'
  elseif first > 1 then
    log = string.sub(log, first * 11 - 10)
  end
  total, used, lastAt = total + cost, used + cost, now
  redis.call('SET', key, log .. struct.pack('>I7I4', now, total), 'PX', math.ceil(window / 1000) + 1000)
end
local reset, nextAfter = 0, 0
if used > 0 then
  reset = math.ceil((lastAt + window - clock) / 1000)
  nextAfter = math.ceil((firstAt + window - clock) / 1000)
end
return { now, math.max(0, limit - used), retry, reset, nextAfter }
