#!lua
-- List of entries: time (7 bytes) and running total (4). Element 0 is the last that left: what the total was before.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local cost, limit, window = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local key = KEYS[1]
local clock, used, total, firstAt, lastAt, first, retry = now, 0, 0, now, now, 0, 0
local last = redis.call('LINDEX', key, -1)
if last then
  lastAt, total = struct.unpack('>I7I4', last)
  if lastAt > now then clock = lastAt end
  if clock - lastAt < window then
    local block = redis.call('LRANGE', key, 0, 3)
    local base
    for i = 1, #block do
      local at, sum = struct.unpack('>I7I4', block[i])
      if i > 1 and at > clock - window then
        first, firstAt = i - 1, at
        break
      end
      base = sum
    end
    if first == 0 then
      local low, high = #block, redis.call('LLEN', key) - 1
      while low < high do
        local middle = math.floor((low + high) / 2)
        local at = struct.unpack('>I7', redis.call('LINDEX', key, middle))
        if at > clock - window then high = middle else low = middle + 1 end
      end
      local pair = redis.call('LRANGE', key, low - 1, low)
      local _
      _, base = struct.unpack('>I7I4', pair[1])
      first, firstAt = low, struct.unpack('>I7', pair[2])
    end
    used = total - base
  end
end
if cost > limit then
  retry = -1
elseif used + cost > limit then
  local at = firstAt
  if used + cost - limit > 1 then
    local low, high, target = first, redis.call('LLEN', key) - 1, total - limit + cost
    while low < high do
      local middle = math.floor((low + high) / 2)
      local _, sum = struct.unpack('>I7I4', redis.call('LINDEX', key, middle))
      if sum >= target then high = middle else low = middle + 1 end
    end
    at = struct.unpack('>I7', redis.call('LINDEX', key, low))
  end
  retry = math.ceil((at + window - clock) / 1000)
else
  if first == 2 then
    redis.call('LPOP', key)
  elseif first > 2 then
    redis.call('LTRIM', key, first - 1, -1)
  elseif used == 0 then
    if last then redis.call('DEL', key) end
    total, firstAt = 0, now
    redis.call('RPUSH', key, struct.pack('>I7I4', 0, 0))
  end
  total, used, lastAt = total + cost, used + cost, now
  redis.call('RPUSH', key, struct.pack('>I7I4', now, total))
  redis.call('PEXPIRE', key, math.ceil(window / 1000) + 1000)
end
local reset, nextAfter = 0, 0
if used > 0 then
  reset = math.ceil((lastAt + window - clock) / 1000)
  nextAfter = math.ceil((firstAt + window - clock) / 1000)
end
return { now, math.max(0, limit - used), retry, reset, nextAfter }
