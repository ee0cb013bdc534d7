#!lua
-- String that grows at its end, cut when more than half has left: entries of time (7 bytes) and running total (4).
-- The first entry stands for what was before it; the first inside the window is guessed, then searched for.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local cost, limit, window = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local key = KEYS[1]
local clock, used, total, firstAt, lastAt, first, retry, size = now, 0, 0, now, now, 0, 0, 0
local tail = redis.call('GETRANGE', key, -11, -1)
if tail ~= '' then
  lastAt, total = struct.unpack('>I7I4', tail)
  if lastAt > now then clock = lastAt end
  size = redis.call('STRLEN', key) / 11
  if clock - lastAt < window then
    -- Entry `low` has left (or stands for the beginning), entry `high` has not.
    local low, high, base = 0, size - 1, nil
    local lowAt, highAt = nil, lastAt
    local guess, steps = math.max(1, size - limit), 0
    while true do
      local from = math.max(low, math.min(guess - 4, high - 7))
      local upTo = math.min(from + 7, high)
      local block = redis.call('GETRANGE', key, from * 11, upTo * 11 + 10)
      local at, sum = struct.unpack('>I7I4', block)
      if at > clock - window and from > 0 then
        high, highAt = from, at
      else
        low, lowAt, base = from, at, sum
        for i = 1, upTo - from do
          at, sum = struct.unpack('>I7I4', block, i * 11 + 1)
          if at > clock - window then
            high, highAt = from + i, at
            break
          end
          low, lowAt, base = from + i, at, sum
        end
      end
      if high - low <= 1 and base then break end
      steps = steps + 1
      if steps < 3 and lowAt and lowAt > 0 and highAt > lowAt then
        guess = low + math.floor((clock - window - lowAt) / (highAt - lowAt) * (high - low))
      else
        guess = math.floor((low + high) / 2)
      end
    end
    first, firstAt, used = high, highAt, total - base
  end
end
if cost > limit then
  retry = -1
elseif used + cost > limit then
  local at = firstAt
  if used + cost - limit > 1 then
    local low, high, target = first, size - 1, total - limit + cost
    while low < high do
      local middle = math.floor((low + high) / 2)
      local _, sum = struct.unpack('>I7I4', redis.call('GETRANGE', key, middle * 11, middle * 11 + 10))
      if sum >= target then high = middle else low = middle + 1 end
    end
    at = struct.unpack('>I7', redis.call('GETRANGE', key, low * 11, low * 11 + 6))
  end
  retry = math.ceil((at + window - clock) / 1000)
else
  local before = total
  if used == 0 then before, firstAt = 0, now end
  total, used, lastAt = before + cost, used + cost, now
  local entry = struct.pack('>I7I4', now, total)
  if first == 0 then
    redis.call('SET', key, '\0\0\0\0\0\0\0\0\0\0\0' .. entry, 'PX', math.ceil(window / 1000) + 1000)
  elseif first > (size - first) + 16 then
    local kept = redis.call('GETRANGE', key, first * 11 - 11, -1)
    redis.call('SET', key, kept .. entry, 'PX', math.ceil(window / 1000) + 1000)
  else
    redis.call('APPEND', key, entry)
    redis.call('PEXPIRE', key, math.ceil(window / 1000) + 1000)
  end
end
local reset, nextAfter = 0, 0
if used > 0 then
  reset = math.ceil((lastAt + window - clock) / 1000)
  nextAfter = math.ceil((firstAt + window - clock) / 1000)
end
return { now, math.max(0, limit - used), retry, reset, nextAfter }
