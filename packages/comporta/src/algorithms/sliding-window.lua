-- The exact log. Sorted set: score = time (us); member = running total of costs, then ":cost" unless that is 1.
-- Totals have a fixed width, so that entries of one microsecond keep their order.

local function toMember(total, cost)
  if cost == 1 then return string.format('%015.0f', total) end
  return string.format('%015.0f:%.0f', total, cost)
end

local function fromMember(member)
  return tonumber(string.sub(member, 1, 15)), tonumber(string.sub(member, 17)) or 1
end

-- Ms until entries worth `excess` have left the window.
local function waitFor(key, firstMember, firstAt, excess, clock, window)
  local firstTotal, firstCost = fromMember(firstMember)
  local at, target = firstAt, firstTotal - firstCost + excess
  if firstCost < excess then
    local low, high = redis.call('ZRANK', key, firstMember) + 1, redis.call('ZCARD', key) - 1
    while low < high do
      local middle = math.floor((low + high) / 2)
      local total = fromMember(redis.call('ZRANGE', key, middle, middle)[1])
      if total >= target then high = middle else low = middle + 1 end
    end
    at = tonumber(redis.call('ZRANGE', key, low, low, 'WITHSCORES')[2])
  end
  return math.ceil((at + window - clock) / 1000)
end

-- Moves the entries from rank `from` on back in time by `shift` and their totals down by `base`.
local function rewrite(key, from, shift, base)
  local entries = redis.call('ZRANGE', key, from, -1, 'WITHSCORES')
  redis.call('ZREMRANGEBYRANK', key, from, -1)
  for i = 1, #entries, 2 do
    local total, cost = fromMember(entries[i])
    redis.call('ZADD', key, tonumber(entries[i + 1]) - shift, toMember(total - base, cost))
  end
end

local function evaluate(key, now, cost, limit, window)
  local clock, used, total, firstAt, reset, nextAfter, retry = now, 0, 0, now, 0, 0, 0
  local firstMember
  local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
  if last[1] then
    local lastAt = tonumber(last[2])
    clock = math.max(now, lastAt)
    if clock - lastAt < window then
      local bound = string.format('(%.0f', clock - window)
      local first = redis.call('ZRANGEBYSCORE', key, bound, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
      firstMember, firstAt = first[1], tonumber(first[2])
      local firstTotal, firstCost = fromMember(firstMember)
      total = fromMember(last[1])
      used = total - firstTotal + firstCost
      reset = math.ceil((lastAt + window - clock) / 1000)
    end
  end
  local remaining = math.max(0, limit - used)
  if used > 0 then
    nextAfter = waitFor(key, firstMember, firstAt, used + remaining + 1 - limit, clock, window)
  end
  if cost > limit then
    retry = -1
  elseif cost > remaining then
    retry = waitFor(key, firstMember, firstAt, used + cost - limit, clock, window)
  end
  return remaining, retry, reset, nextAfter, clock > now, clock - now, firstAt, used, total
end

local function commit(key, now, cost, limit, window, shift, firstAt, used, total)
  if shift > 0 then rewrite(key, 0, shift, 0) end
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window)
  if total + cost > TOTAL_MAX then
    rewrite(key, 0, 0, total - used)
    total = used
  end
  if cost > 0 then redis.call('ZADD', key, now, toMember(total + cost, cost)) end
  redis.call('PEXPIRE', key, math.ceil(window / 1000) + TTL_MARGIN_MS)
  return math.max(0, limit - used - cost), math.ceil(window / 1000), math.ceil((firstAt - shift + window - now) / 1000)
end

local function refund(key, now, amount, atUs, limit, window)
  if atUs <= now - window then return 0 end
  local entries = redis.call('ZRANGEBYSCORE', key, atUs, atUs)
  for _, member in ipairs(entries) do
    local total, cost = fromMember(member)
    if cost >= amount then
      local rank = redis.call('ZRANK', key, member)
      redis.call('ZREM', key, member)
      rewrite(key, rank, 0, amount)
      if cost > amount then redis.call('ZADD', key, atUs, toMember(total - amount, cost - amount)) end
      redis.call('PEXPIRE', key, math.ceil(window / 1000) + TTL_MARGIN_MS)
      return 1
    end
  end
  return 0
end
