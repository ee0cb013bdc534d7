-- Entries of a log, oldest first: the time (us), the running total of costs, the entry's own cost.
-- A list has an element for each: time, total, and the cost unless that is 1. A sorted set has the time as score and
-- as member the total, then ":cost" unless that is 1; totals have a fixed width, so that entries of one microsecond
-- keep their order.

local function toElement(at, total, cost)
  if cost == 1 then return struct.pack('<dI4', at, total) end
  return struct.pack('<dI4I4', at, total, cost)
end

local function fromElement(element)
  if #element == 16 then return struct.unpack('<dI4I4', element) end
  local at, total = struct.unpack('<dI4', element)
  return at, total, 1
end

local function toMember(total, cost)
  if cost == 1 then return string.format('%015.0f', total) end
  return string.format('%015.0f:%.0f', total, cost)
end

local function fromMember(member)
  if #member == 15 then return tonumber(member), 1 end
  return tonumber(string.sub(member, 1, 15)), tonumber(string.sub(member, 17))
end

-- Whether the log is a sorted set, and the time and total of its last entry.
local function open(key, isSet)
  local last
  if isSet then last = redis.pcall('ZRANGE', key, -1, -1, 'WITHSCORES') else last = redis.pcall('LINDEX', key, -1) end
  -- Texts have no `err` either.
  if last and last.err then
    if string.sub(last.err, 1, 9) ~= 'WRONGTYPE' then error(last) end
    isSet = not isSet
    if isSet then last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES') else last = redis.call('LINDEX', key, -1) end
  end
  if not isSet then
    if last then return isSet, fromElement(last) end
  elseif last[1] then
    return isSet, tonumber(last[2]), (fromMember(last[1]))
  end
  return isSet
end

local function entryAt(key, isSet, rank)
  if not isSet then return fromElement(redis.call('LINDEX', key, rank)) end
  local entry = redis.call('ZRANGE', key, rank, rank, 'WITHSCORES')
  return tonumber(entry[2]), fromMember(entry[1])
end

local function count(key, isSet)
  if isSet then return redis.call('ZCARD', key) end
  return redis.call('LLEN', key)
end

-- Rank of the first entry of a list that is later than `bound`, and that entry; of the last when none is. As a rule
-- it stands near the beginning: little has left since the last charge.
local function firstAfter(key, bound)
  local start = redis.call('LRANGE', key, 0, 3)
  for i = 1, #start do
    local at, total, cost = fromElement(start[i])
    if at > bound then return i - 1, at, total, cost end
  end
  local low, high = #start, redis.call('LLEN', key) - 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if fromElement(redis.call('LINDEX', key, middle)) > bound then high = middle else low = middle + 1 end
  end
  return high, fromElement(redis.call('LINDEX', key, high))
end

-- The entries of those ranks.
local function read(key, isSet, from, to)
  local entries = {}
  if isSet then
    local flat = redis.call('ZRANGE', key, from, to, 'WITHSCORES')
    for i = 1, #flat, 2 do
      local total, cost = fromMember(flat[i])
      entries[#entries + 1] = { at = tonumber(flat[i + 1]), total = total, cost = cost }
    end
  else
    for i, element in ipairs(redis.call('LRANGE', key, from, to)) do
      local at, total, cost = fromElement(element)
      entries[i] = { at = at, total = total, cost = cost }
    end
  end
  return entries
end

-- Puts entries in place of those up to the end, or of those from the beginning on. Who has no cost is left out.
local function write(key, isSet, from, to, entries)
  local isStart = to ~= -1
  if isSet then
    redis.call('ZREMRANGEBYRANK', key, from, to)
  elseif isStart then
    redis.call('LTRIM', key, to + 1, -1)
  elseif from == 0 then
    redis.call('DEL', key)
  else
    redis.call('LTRIM', key, 0, from - 1)
  end
  for i = 1, #entries do
    local entry = entries[isStart and #entries + 1 - i or i]
    local at, total, cost = entry.at, entry.total, entry.cost
    if cost > 0 then
      if isSet then
        redis.call('ZADD', key, at, toMember(total, cost))
      elseif isStart then
        redis.call('LPUSH', key, toElement(at, total, cost))
      else
        redis.call('RPUSH', key, toElement(at, total, cost))
      end
    end
  end
end
