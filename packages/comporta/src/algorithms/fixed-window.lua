-- N per window. Value: start of the window (ms), count.

local function evaluate(key, now, cost, limit, window, aligned)
  local start, count, stepped, retry = now, 0, false, 0
  if aligned == 1 then start = now - now % window end
  local value = redis.call('GET', key)
  if value then
    local storedStart, storedCount = struct.unpack('dd', value)
    stepped = now < storedStart
    if stepped or now - storedStart < window then count = storedCount end
    if not stepped and count > 0 and aligned == 0 then start = storedStart end
  end
  if cost > limit then
    retry = -1
  elseif cost > math.max(0, limit - count) then
    retry = start + window - now
  end
  return retry, stepped, start, count
end

local function commit(key, now, cost, limit, window, aligned, start, count)
  count = math.min(USE_MAX, count + cost)
  redis.call('SET', key, struct.pack('dd', start, count), 'PX', start + window - now + TTL_MARGIN_MS)
  return start, count
end

local function describe(key, now, limit, window, aligned, start, count)
  local left = 0
  if count > 0 then left = start + window - now end
  return math.max(0, limit - count), left, left
end

local function refund(key, now, amount, atUs, limit, window, aligned)
  local _, _, start, count = evaluate(key, now, 0, limit, window, aligned)
  if count == 0 or atUs < start * 1000 then return 0 end
  commit(key, now, 0, limit, window, aligned, start, math.max(0, count - amount))
  return 1
end
