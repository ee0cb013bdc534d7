-- Places that are held. Sorted set: score = end of the lease (ms); member = holder. The script knows its own holder.

local function clamp(key, last)
  local late = redis.call('ZRANGEBYSCORE', key, last + 1, '+inf')
  for _, member in ipairs(late) do redis.call('ZADD', key, last, member) end
end

local function evaluate(key, now, cost, limit, lease)
  local stepped, retry = false, 0
  local count, first, last = redis.call('ZCOUNT', key, now + 1, '+inf'), now, now
  if count > 0 then
    first = tonumber(redis.call('ZRANGEBYSCORE', key, now + 1, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2])
    last = tonumber(redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2])
    stepped = last > now + lease
    first, last = math.min(first, now + lease), math.min(last, now + lease)
  end
  if cost > 0 and count >= limit then
    retry = first - now
    if limit == 0 then retry = -1 end
  end
  return retry, stepped, count, first, last
end

local function commit(key, now, cost, limit, lease, count, first, last)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
  clamp(key, now + lease)
  if cost > 0 then
    last = now + lease
    if count == 0 then first = last end
    count = count + 1
    redis.call('ZADD', key, last, holder)
  end
  redis.call('PEXPIRE', key, last - now + TTL_MARGIN_MS)
  return count, first, last
end

local function describe(key, now, limit, lease, count, first, last)
  local reset, nextAfter = 0, 0
  if count > 0 then reset, nextAfter = last - now, first - now end
  return math.max(0, limit - count), reset, nextAfter
end

local function refund(key, now, amount, atUs, limit, lease)
  return redis.call('ZREM', key, holder)
end

-- A holder that was away for too long takes its place again, if there is one.
local function renew(key, now, limit, lease)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
  if not redis.call('ZSCORE', key, holder) and redis.call('ZCARD', key) >= limit then return 0 end
  redis.call('ZADD', key, now + lease, holder)
  local last = tonumber(redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2])
  redis.call('PEXPIRE', key, last - now + TTL_MARGIN_MS)
  return 1
end
