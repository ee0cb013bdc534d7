-- Whole drops stand for fractions of tokens; see token-bucket.ts. Value: used, time (ms), drops per token.

local function evaluate(key, now, cost, full, token, rate)
  local used, stepped, retry = 0, false, 0
  local value = redis.call('GET', key)
  if value then
    local at, scale
    used, at, scale = struct.unpack('ddd', value)
    if scale ~= token then
      local whole = math.floor(used / scale)
      used = whole * token + math.ceil((used - whole * scale) * token / scale)
    end
    used = math.min(full, used)
    stepped = now < at
    if not stepped then
      local elapsed = now - at
      if elapsed >= used / rate then used = 0 else used = used - elapsed * rate end
    end
  end
  local needed = cost * token
  if needed > full then
    retry = -1
  elseif needed > full - used then
    retry = math.ceil((needed - full + used) / rate)
  end
  return retry, stepped, used
end

local function commit(key, now, cost, full, token, rate, used)
  used = used + cost * token
  redis.call('SET', key, struct.pack('ddd', used, now, token), 'PX', math.ceil(used / rate) + TTL_MARGIN_MS)
  return used
end

local function describe(key, now, full, token, rate, used)
  local level = full - used
  local nextAfter = math.ceil(math.min(used, token - level % token) / rate)
  return math.floor(level / token), math.ceil(used / rate), nextAfter
end

local function refund(key, now, amount, atUs, full, token, rate)
  local _, _, used = evaluate(key, now, 0, full, token, rate)
  if used == 0 then return 0 end
  commit(key, now, 0, full, token, rate, math.max(0, used - amount * token))
  return 1
end
