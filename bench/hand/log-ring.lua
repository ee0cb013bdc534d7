#!lua
-- String: a head (slots, first, count, last time, total), then a ring of entries: time and the total before it.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local cost, limit, window = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local key = KEYS[1]
local HEAD, ENTRY = 21, 11
local clock, used, total, firstAt, lastAt, retry = now, 0, 0, now, now, 0
local slots, first, count = 0, 0, 0
-- A slot's time and the total before it.
local function slot(i)
  local from = HEAD + (first + i) % slots * ENTRY
  return struct.unpack('>I7I4', redis.call('GETRANGE', key, from, from + ENTRY - 1))
end
local head = redis.call('GETRANGE', key, 0, HEAD - 1)
if head ~= '' then
  slots, first, count, lastAt, total = struct.unpack('>I3I3I4I7I4', head)
  if lastAt > now then clock = lastAt end
  if clock - lastAt >= window then
    count, total = 0, 0
  else
    local from = HEAD + first * ENTRY
    local most = math.min(4, slots - first, count)
    local block = redis.call('GETRANGE', key, from, from + most * ENTRY - 1)
    local base
    for i = 0, most - 1 do
      local at, before = struct.unpack('>I7I4', block, i * ENTRY + 1)
      if at > clock - window then
        firstAt, base = at, before
        first, count = (first + i) % slots, count - i
        break
      end
    end
    if not base then
      local low, high = most, count - 1
      while low < high do
        local middle = math.floor((low + high) / 2)
        if slot(middle) > clock - window then high = middle else low = middle + 1 end
      end
      firstAt, base = slot(low)
      first, count = (first + low) % slots, count - low
    end
    used = total - base
  end
end
if cost > limit then
  retry = -1
elseif used + cost > limit then
  local at = firstAt
  if used + cost - limit > 1 then
    -- The last entry of which the total before is still below what must leave.
    local low, high, target = 0, count - 1, total - limit + cost
    while low < high do
      local middle = math.floor((low + high + 1) / 2)
      local _, before = slot(middle)
      if before < target then low = middle else high = middle - 1 end
    end
    at = slot(low)
  end
  retry = math.ceil((at + window - clock) / 1000)
else
  if used == 0 then firstAt = now end
  local entry = struct.pack('>I7I4', now, total)
  local before = total
  total, used, lastAt = total + cost, used + cost, now
  if count == slots or (count * 4 < slots and slots > 16) then
    local more = math.max(8, math.ceil(count / 8))
    local live = ''
    if count > 0 then
      local over = math.max(0, first + count - slots)
      live = redis.call('GETRANGE', key, HEAD + first * ENTRY, HEAD + (first + count - over) * ENTRY - 1)
      if over > 0 then live = live .. redis.call('GETRANGE', key, HEAD, HEAD + over * ENTRY - 1) end
    end
    slots, first = count + more, 0
    local text = struct.pack('>I3I3I4I7I4', slots, 0, count + 1, now, total) .. live .. entry
    redis.call('SET', key, text .. string.rep('\0', (more - 1) * ENTRY), 'PX', math.ceil(window / 1000) + 1000)
  else
    redis.call('SETRANGE', key, HEAD + (first + count) % slots * ENTRY, entry)
    redis.call('SETRANGE', key, 0, struct.pack('>I3I3I4I7I4', slots, first, count + 1, now, total))
    redis.call('PEXPIRE', key, math.ceil(window / 1000) + 1000)
  end
end
local reset, nextAfter = 0, 0
if used > 0 then
  reset = math.ceil((lastAt + window - clock) / 1000)
  nextAfter = math.ceil((firstAt + window - clock) / 1000)
end
return { now, math.max(0, limit - used), retry, reset, nextAfter }
