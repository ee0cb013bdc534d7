-- Whole drops stand for fractions of tokens; see token-bucket.ts. Value: used, time (us), drops per token.

local function toMs(drops, rate, tick)
  return math.ceil(math.ceil(drops / rate) * tick / 1000)
end

local function evaluate(key, now, cost, full, token, rate, tick)
  local at, used, stepped, retry = now - now % tick, 0, false, 0
  local value = redis.call('GET', key)
  if value then
    local storedAt, scale
    used, storedAt, scale = struct.unpack('ddd', value)
    if scale ~= token then
      local whole = math.floor(used / scale)
      used = math.min(USE_MAX, whole * token + math.ceil((used - whole * scale) * token / scale))
    end
    stepped = at < storedAt
    if not stepped then
      local elapsed = math.floor((at - storedAt) / tick)
      if elapsed >= used / rate then used = 0 else used = used - elapsed * rate end
    end
  end
  local needed = cost * token
  if needed > full then
    retry = -1
  elseif needed > math.max(0, full - used) then
    retry = toMs(needed - full + used, rate, tick)
  end
  return retry, stepped, at, used
end

local function commit(key, now, cost, full, token, rate, tick, at, used)
  used = math.min(USE_MAX, used + cost * token)
  redis.call('SET', key, struct.pack('ddd', used, at, token), 'PX', toMs(used, rate, tick) + TTL_MARGIN_MS)
  return at, used
end

local function describe(key, now, full, token, rate, tick, at, used)
  local remaining = math.max(0, math.floor((full - used) / token))
  local missing = math.min(used, (remaining + 1) * token - full + used)
  return remaining, toMs(used, rate, tick), toMs(missing, rate, tick)
end

local function refund(key, now, amount, atUs, full, token, rate, tick)
  local _, _, at, used = evaluate(key, now, 0, full, token, rate, tick)
  local elapsed = math.floor((at - (atUs - atUs % tick)) / tick)
  local back = math.min(used, (amount - math.floor(elapsed * rate / token)) * token)
  if elapsed < 0 or back <= 0 then return 0 end
  commit(key, now, 0, full, token, rate, tick, at, used - back)
  return 1
end
