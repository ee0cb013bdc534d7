-- Whole drops stand for fractions of tokens; see token-bucket.ts. Value: used, time (us), drops per token.

-- Rounds up twice; `x + -x % 1` is math.ceil without a call.
local function toMs(drops, rate, tick)
  local ticks = drops / rate
  local ms = (ticks + -ticks % 1) * tick / 1000
  return ms + -ms % 1
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
      local elapsed = at - storedAt
      elapsed = (elapsed - elapsed % tick) / tick
      if elapsed >= used / rate then used = 0 else used = used - elapsed * rate end
    end
  end
  local needed = cost * token
  if needed > full then
    retry = -1
  elseif needed > full - used and needed > 0 then
    retry = toMs(needed - full + used, rate, tick)
  end
  return retry, stepped, at, used
end

local function commit(key, now, cost, full, token, rate, tick, at, used)
  used = used + cost * token
  if used > USE_MAX then used = USE_MAX end
  redis.call('SET', key, struct.pack('ddd', used, at, token), 'PX', toMs(used, rate, tick) + TTL_MARGIN_MS)
  return at, used
end

local function describe(key, now, full, token, rate, tick, at, used)
  local remaining = full - used
  if remaining < 0 then remaining = 0 end
  remaining = (remaining - remaining % token) / token
  local missing = (remaining + 1) * token - full + used
  if missing > used then missing = used end
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
