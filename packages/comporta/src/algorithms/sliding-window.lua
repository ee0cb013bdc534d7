-- The exact log.
-- @include includes/entries.lua

-- @seldom
-- Ms until entries worth `excess` have left the window. Every entry is worth at least 1.
local function waitFor(key, isSet, left, firstAt, excess, clock, window)
  if excess > 1 then
    local low, high = left, count(key, isSet) - 1
    if isSet then low = redis.call('ZCOUNT', key, '-inf', clock - window) end
    local _, firstTotal, firstCost = entryAt(key, isSet, low)
    local target = firstTotal - firstCost + excess
    while low < high do
      local middle = math.floor((low + high) / 2)
      local _, total = entryAt(key, isSet, middle)
      if total >= target then high = middle else low = middle + 1 end
    end
    firstAt = entryAt(key, isSet, low)
  end
  return math.ceil((firstAt + window - clock) / 1000)
end

-- @seldom
-- Moves all entries back in time by `shift` and their totals down by `base`.
local function rewrite(key, isSet, shift, base)
  local entries = read(key, isSet, 0, -1)
  for _, entry in ipairs(entries) do entry.at, entry.total = entry.at - shift, entry.total - base end
  write(key, isSet, 0, -1, entries)
end

-- `clock` is the time decided with: never before the last entry. `left`: entries that left the window, -1 for all.
local function evaluate(key, now, cost, limit, window, storage)
  local clock, left, firstAt, used, total, retry = now, 0, now, 0, 0, 0
  local isSet, lastAt, lastTotal = open(key, storage == 1)
  if not lastAt then
    lastAt = now
  else
    if lastAt > now then clock = lastAt end
    left = -1
    if clock - lastAt < window then
      local firstTotal, firstCost
      if isSet then
        local first = redis.call('ZRANGEBYSCORE', key, clock - window + 1, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
        firstTotal, firstCost = fromMember(first[1])
        firstAt = tonumber(first[2])
      else
        left, firstAt, firstTotal, firstCost = firstAfter(key, clock - window)
      end
      total = lastTotal
      used = total - firstTotal + firstCost
    end
  end
  if cost > limit then
    retry = -1
  elseif cost > limit - used and cost > 0 then
    retry = waitFor(key, isSet, left, firstAt, used + cost - limit, clock, window)
  end
  return retry, clock > now, isSet, clock, left, firstAt, lastAt, used, total
end

local function commit(key, now, cost, limit, window, storage, isSet, clock, left, firstAt, lastAt, used, total)
  if isSet then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', clock - window)
  elseif left > 0 then
    redis.call('LTRIM', key, left, -1)
  elseif left < 0 then
    redis.call('DEL', key)
  end
  local base = 0
  if total + cost > TOTAL_MAX then
    base, total = total - used, used
    cost = math.min(cost, TOTAL_MAX - total)
  end
  if clock > now or base > 0 then
    rewrite(key, isSet, clock - now, base)
  end
  if used == 0 then firstAt = clock end
  if cost > 0 then
    if isSet then
      redis.call('ZADD', key, now, toMember(total + cost, cost))
    else
      redis.call('RPUSH', key, toElement(now, total + cost, cost))
    end
  end
  redis.call('PEXPIRE', key, math.ceil(window / 1000) + TTL_MARGIN_MS)
  return isSet, now, 0, firstAt - clock + now, now, used + cost, total + cost
end

local function describe(key, now, limit, window, storage, isSet, clock, left, firstAt, lastAt, used, total)
  local remaining, reset, nextAfter = limit - used, 0, 0
  if used > 0 then
    reset, nextAfter = (lastAt + window - clock) / 1000, (firstAt + window - clock) / 1000
    -- As math.ceil, without a call.
    reset, nextAfter = reset + -reset % 1, nextAfter + -nextAfter % 1
  end
  -- Only after the limit was lowered: more than the first entry must leave.
  if remaining < 0 then
    nextAfter = waitFor(key, isSet, left, firstAt, 1 - remaining, clock, window)
    remaining = 0
  end
  return remaining, reset, nextAfter
end

-- Takes `amount`, at most its cost, from an entry, and puts the totals right on the side where fewer entries are.
local function lessen(key, isSet, rank, amount)
  local isStart = rank < count(key, isSet) - 1 - rank
  local from, to = isStart and 0 or rank, isStart and rank or -1
  local entries = read(key, isSet, from, to)
  local own = isStart and #entries or 1
  for i, entry in ipairs(entries) do
    if not isStart then
      entry.total = entry.total - amount
    elseif i < own then
      entry.total = entry.total + amount
    end
  end
  entries[own].cost = entries[own].cost - amount
  write(key, isSet, from, to, entries)
end

-- Whether the log is a sorted set, and the rank of the first entry of `atUs` or later; nil when there is none.
local function find(key, isSet, atUs)
  local lastAt, rank
  isSet, lastAt = open(key, isSet)
  if not lastAt or lastAt < atUs then return isSet end
  if isSet then rank = redis.call('ZCOUNT', key, '-inf', atUs - 1) else rank = firstAfter(key, atUs - 1) end
  return isSet, rank
end

-- Entries of one moment are alike: what one lacks, the next gives.
local function refund(key, now, amount, atUs, limit, window, storage)
  local isSet, rank = find(key, storage == 1, atUs)
  if not rank or atUs <= now - window then return 0 end
  local parts, worth, all = {}, 0, count(key, isSet)
  while worth < amount and rank + #parts < all do
    local at, _, cost = entryAt(key, isSet, rank + #parts)
    if at ~= atUs then break end
    parts[#parts + 1] = math.min(cost, amount - worth)
    worth = worth + cost
  end
  if worth < amount then return 0 end
  for _, part in ipairs(parts) do lessen(key, isSet, rank, part) end
  redis.call('PEXPIRE', key, math.ceil(window / 1000) + TTL_MARGIN_MS)
  return 1
end

-- One walk over the log from the first of them on, however many there are. A charge: cost, atUs.
local function refundAll(key, now, charges, limit, window, storage)
  local due, firstUs, taken = {}, math.huge, 0
  for _, charge in ipairs(charges) do
    if charge.atUs > now - window then
      due[charge.atUs] = (due[charge.atUs] or 0) + charge.cost
      firstUs = math.min(firstUs, charge.atUs)
    end
  end
  local isSet, rank = find(key, storage == 1, firstUs)
  if not rank then return 0 end
  local entries = read(key, isSet, rank, -1)
  for _, entry in ipairs(entries) do
    local part = math.min(entry.cost, due[entry.at] or 0)
    if part > 0 then due[entry.at] = due[entry.at] - part end
    taken = taken + part
    entry.total, entry.cost = entry.total - taken, entry.cost - part
  end
  if taken == 0 then return 0 end
  write(key, isSet, rank, -1, entries)
  redis.call('PEXPIRE', key, math.ceil(window / 1000) + TTL_MARGIN_MS)
  return taken
end

-- The newest entries go first, the last of them in part.
local function reward(key, now, amount, limit, window, storage)
  local isSet, lastAt = open(key, storage == 1)
  local given = 0
  while amount > 0 and lastAt and lastAt > now - window do
    local _, total, cost = entryAt(key, isSet, -1)
    local part = math.min(cost, amount)
    write(key, isSet, count(key, isSet) - 1, -1, { { at = lastAt, total = total - part, cost = cost - part } })
    amount, given = amount - part, 1
    isSet, lastAt = open(key, isSet)
  end
  if given > 0 then redis.call('PEXPIRE', key, math.ceil(window / 1000) + TTL_MARGIN_MS) end
  return given
end
