-- Whole drops stand for fractions of tokens; see token-bucket.ts. Value: used, time (ms), drops per token.

local function read(value, full, token)
  local used, at, scale = unpackNumbers(value)
  if scale ~= token then
    local whole = math.floor(used / scale)
    used = whole * token + math.ceil((used - whole * scale) * token / scale)
  end
  return math.min(full, used), at
end

local function untilNext(used, token, level, rate)
  if used == 0 then return 0 end
  return math.ceil(math.min(used, token - level % token) / rate)
end

local function evaluate(key, now, cost, full, token, rate)
  local used, stepped = 0, false
  local value = redis.call('GET', key)
  if value then
    local at
    used, at = read(value, full, token)
    stepped = now < at
    if not stepped then
      local elapsed = now - at
      if elapsed >= used / rate then used = 0 else used = used - elapsed * rate end
    end
  end
  local level, needed, retry = full - used, cost * token, 0
  if needed > full then
    retry = -1
  elseif needed > level then
    retry = math.ceil((needed - level) / rate)
  end
  return math.floor(level / token), retry, math.ceil(used / rate), untilNext(used, token, level, rate), stepped, used
end

local function store(key, now, used, full, token, rate)
  local level, reset = full - used, math.ceil(used / rate)
  redis.call('SET', key, packNumbers(used, now, token), 'PX', reset + TTL_MARGIN_MS)
  return math.floor(level / token), reset, untilNext(used, token, level, rate)
end

local function commit(key, now, cost, full, token, rate, used)
  return store(key, now, used + cost * token, full, token, rate)
end

local function refund(key, now, amount, atUs, full, token, rate)
  local _, _, _, _, _, used = evaluate(key, now, 0, full, token, rate)
  if used == 0 then return 0 end
  store(key, now, math.max(0, used - amount * token), full, token, rate)
  return 1
end
