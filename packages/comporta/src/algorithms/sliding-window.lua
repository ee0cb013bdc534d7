-- The exact log. Sorted set: score = time (us); member = running total of costs, then ":cost" unless that is 1.
-- Totals have a fixed width, so that entries of one microsecond keep their order.

local function toMember(total, cost)
  if cost == 1 then return string.format('%015.0f', total) end
  return string.format('%015.0f:%.0f', total, cost)
end

local function fromMember(member)
  if #member == 15 then return tonumber(member), 1 end
  return tonumber(string.sub(member, 1, 15)), tonumber(string.sub(member, 17))
end

-- Ms until entries worth `excess` have left the window. Every entry is worth at least 1.
local function waitFor(key, firstAt, excess, clock, window)
  if excess > 1 then
    local low, high = redis.call('ZCOUNT', key, '-inf', clock - window), redis.call('ZCARD', key) - 1
    local firstTotal, firstCost = fromMember(redis.call('ZRANGE', key, low, low)[1])
    local target = firstTotal - firstCost + excess
    while low < high do
      local middle = math.floor((low + high) / 2)
      local total = fromMember(redis.call('ZRANGE', key, middle, middle)[1])
      if total >= target then high = middle else low = middle + 1 end
    end
    firstAt = tonumber(redis.call('ZRANGE', key, low, low, 'WITHSCORES')[2])
  end
  return math.ceil((firstAt + window - clock) / 1000)
end

-- Moves the entries of ranks `from` to `to` back in time by `shift` and their totals down by `base`.
local function rewrite(key, from, to, shift, base)
  local entries = redis.call('ZRANGE', key, from, to, 'WITHSCORES')
  redis.call('ZREMRANGEBYRANK', key, from, to)
  for i = 1, #entries, 2 do
    local total, cost = fromMember(entries[i])
    redis.call('ZADD', key, tonumber(entries[i + 1]) - shift, toMember(total - base, cost))
  end
end

-- `clock` is the time decided with: never before the last entry.
local function evaluate(key, now, cost, limit, window)
  local clock, used, total, firstAt, lastAt, retry = now, 0, 0, now, now, 0
  local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
  if last[1] then
    lastAt = tonumber(last[2])
    if lastAt > now then clock = lastAt end
    if clock - lastAt < window then
      local first = redis.call('ZRANGEBYSCORE', key, clock - window + 1, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
      local firstTotal, firstCost = fromMember(first[1])
      firstAt = tonumber(first[2])
      total = fromMember(last[1])
      used = total - firstTotal + firstCost
    end
  end
  if cost > limit then
    retry = -1
  elseif cost > limit - used and cost > 0 then
    retry = waitFor(key, firstAt, used + cost - limit, clock, window)
  end
  return retry, clock > now, clock, firstAt, lastAt, used, total
end

local function commit(key, now, cost, limit, window, clock, firstAt, lastAt, used, total)
  if clock > now then rewrite(key, 0, -1, clock - now, 0) end
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window)
  if total + cost > TOTAL_MAX then
    rewrite(key, 0, -1, 0, total - used)
    total = used
    cost = math.min(cost, TOTAL_MAX - total)
  end
  if used == 0 then firstAt = clock end
  if cost > 0 then redis.call('ZADD', key, now, toMember(total + cost, cost)) end
  redis.call('PEXPIRE', key, math.ceil(window / 1000) + TTL_MARGIN_MS)
  return now, firstAt - clock + now, now, used + cost, total + cost
end

local function describe(key, now, limit, window, clock, firstAt, lastAt, used, total)
  local remaining, reset, nextAfter = limit - used, 0, 0
  if used > 0 then
    reset = math.ceil((lastAt + window - clock) / 1000)
    nextAfter = math.ceil((firstAt + window - clock) / 1000)
  end
  -- Only after the limit was lowered: more than the first entry must leave.
  if remaining < 0 then
    nextAfter = waitFor(key, firstAt, 1 - remaining, clock, window)
    remaining = 0
  end
  return remaining, reset, nextAfter
end

-- Takes `amount`, at most its cost, from an entry, and puts the totals right on the side where fewer entries are.
local function lessen(key, member, atUs, amount)
  local total, cost = fromMember(member)
  local rank, last = redis.call('ZRANK', key, member), redis.call('ZCARD', key) - 1
  redis.call('ZREM', key, member)
  if rank >= last - rank then
    rewrite(key, rank, -1, 0, amount)
    total = total - amount
  elseif rank > 0 then
    rewrite(key, 0, rank - 1, 0, -amount)
  end
  if cost > amount then redis.call('ZADD', key, atUs, toMember(total, cost - amount)) end
end

-- Entries of one moment are alike: what one lacks, the next gives.
local function refund(key, now, amount, atUs, limit, window)
  if atUs <= now - window then return 0 end
  local worth, left = 0, amount
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', key, atUs, atUs)) do
    local _, cost = fromMember(member)
    worth = worth + cost
  end
  if worth < amount then return 0 end
  while left > 0 do
    local member = redis.call('ZRANGEBYSCORE', key, atUs, atUs, 'LIMIT', 0, 1)[1]
    local _, cost = fromMember(member)
    local part = math.min(cost, left)
    lessen(key, member, atUs, part)
    left = left - part
  end
  redis.call('PEXPIRE', key, math.ceil(window / 1000) + TTL_MARGIN_MS)
  return 1
end

-- One walk over the log from the first of them on, however many there are. A charge: cost, atUs.
local function refundAll(key, now, charges, limit, window)
  local due, firstUs, taken = {}, math.huge, 0
  for _, charge in ipairs(charges) do
    if charge.atUs > now - window then
      due[charge.atUs] = (due[charge.atUs] or 0) + charge.cost
      firstUs = math.min(firstUs, charge.atUs)
    end
  end
  if firstUs == math.huge then return 0 end
  local entries = redis.call('ZRANGEBYSCORE', key, firstUs, '+inf', 'WITHSCORES')
  for i = 1, #entries, 2 do
    local atUs, total, cost = tonumber(entries[i + 1]), fromMember(entries[i])
    local part = math.min(cost, due[atUs] or 0)
    if part > 0 then due[atUs] = due[atUs] - part end
    taken = taken + part
    if taken > 0 then redis.call('ZREM', key, entries[i]) end
    if taken > 0 and cost > part then redis.call('ZADD', key, atUs, toMember(total - taken, cost - part)) end
  end
  if taken > 0 then redis.call('PEXPIRE', key, math.ceil(window / 1000) + TTL_MARGIN_MS) end
  return taken
end

-- The newest entries go first, the last of them in part.
local function reward(key, now, amount, limit, window)
  local given = 0
  while amount > 0 do
    local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
    if not last[1] or tonumber(last[2]) <= now - window then break end
    local total, cost = fromMember(last[1])
    local part = math.min(cost, amount)
    redis.call('ZREM', key, last[1])
    if cost > part then redis.call('ZADD', key, tonumber(last[2]), toMember(total - part, cost - part)) end
    amount, given = amount - part, 1
  end
  if given > 0 then redis.call('PEXPIRE', key, math.ceil(window / 1000) + TTL_MARGIN_MS) end
  return given
end
