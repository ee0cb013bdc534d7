-- N per window. Value: start of the window (ms), count.

local function evaluate(key, now, cost, limit, window, aligned)
  local start, count, stepped = now, 0, false
  if aligned == 1 then start = now - now % window end
  local value = redis.call('GET', key)
  if value then
    local storedStart, storedCount = unpackNumbers(value)
    stepped = now < storedStart
    if stepped or now - storedStart < window then count = storedCount end
    if not stepped and count > 0 and aligned == 0 then start = storedStart end
  end
  local left, retry, reset, remaining = start + window - now, 0, 0, math.max(0, limit - count)
  if cost > limit then
    retry = -1
  elseif cost > remaining then
    retry = left
  end
  if count > 0 then reset = left end
  return remaining, retry, reset, reset, stepped, start, count
end

local function commit(key, now, cost, limit, window, aligned, start, count)
  count = count + cost
  local left, reset = start + window - now, 0
  if count > 0 then reset = left end
  redis.call('SET', key, packNumbers(start, count), 'PX', left + TTL_MARGIN_MS)
  return math.max(0, limit - count), reset, reset
end

local function refund(key, now, amount, atUs, limit, window, aligned)
  local _, _, _, _, _, start, count = evaluate(key, now, 0, limit, window, aligned)
  if count == 0 or atUs < start * 1000 then return 0 end
  commit(key, now, -math.min(amount, count), limit, window, aligned, start, count)
  return 1
end
