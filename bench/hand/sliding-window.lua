#!lua
local cost, limit, window = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local key = KEYS[1]
redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window)
local used, total, firstAt, lastAt = 0, 0, now, now
local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
local firstTotal, firstCost = 0, 0
if first[1] then
  local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
  firstTotal, firstCost = tonumber(string.sub(first[1], 1, 15)), tonumber(string.sub(first[1], 17)) or 1
  total, firstAt, lastAt = tonumber(string.sub(last[1], 1, 15)), tonumber(first[2]), tonumber(last[2])
  used = total - firstTotal + firstCost
end
local retry = 0
if cost > limit then
  retry = -1
elseif used + cost > limit then
  local low, high, target = 0, redis.call('ZCARD', key) - 1, used + cost - limit + firstTotal - firstCost
  while low < high do
    local middle = math.floor((low + high) / 2)
    local member = redis.call('ZRANGE', key, middle, middle)[1]
    if tonumber(string.sub(member, 1, 15)) >= target then high = middle else low = middle + 1 end
  end
  retry = math.ceil((redis.call('ZRANGE', key, low, low, 'WITHSCORES')[2] + window - now) / 1000)
else
  total, used, lastAt = total + cost, used + cost, now
  local member
  if cost == 1 then
    member = string.format('%015.0f', total)
  else
    member = string.format('%015.0f:%.0f', total, cost)
  end
  redis.call('ZADD', key, now, member)
  redis.call('PEXPIRE', key, math.ceil(window / 1000) + 1000)
end
local reset, nextAfter = 0, 0
if used > 0 then
  reset = math.ceil((lastAt + window - now) / 1000)
  nextAfter = math.ceil((firstAt + window - now) / 1000)
end
return { now, math.max(0, limit - used), retry, reset, nextAfter }
