-- Two fixed windows, the older one weighted. Value: start of the current window (ms), its use, use of the one before.

local function waitFor(start, current, previous, now, cost, limit, window)
  if cost > limit then return -1 end
  local offset = now - start
  local room = (limit - cost - current) * window
  if cost == 0 or room >= previous * (window - offset) then return 0 end
  local fitsAt = window
  if room >= 0 then fitsAt = window - math.floor(room / previous) end
  if fitsAt < window then return fitsAt - offset end
  local nextFitsAt = 0
  if current > 0 then nextFitsAt = math.max(0, window - math.floor((limit - cost) * window / current)) end
  return window - offset + nextFitsAt
end

local function measure(start, current, previous, now, limit, window)
  local offset = now - start
  local used = current * window + previous * (window - offset)
  local remaining = math.max(0, math.floor((limit * window - used) / window))
  local reset, nextAfter = 0, 0
  if current > 0 then
    reset = 2 * window - offset
  elseif previous > 0 then
    reset = window - offset
  end
  if remaining < limit then nextAfter = waitFor(start, current, previous, now, remaining + 1, limit, window) end
  return remaining, reset, nextAfter
end

local function evaluate(key, now, cost, limit, window)
  local start, current, previous, stepped = now - now % window, 0, 0, false
  local value = redis.call('GET', key)
  if value then
    local storedStart, storedCurrent, storedPrevious = unpackNumbers(value)
    stepped = now < storedStart
    local passed = start - storedStart
    if passed <= 0 then
      current, previous = storedCurrent, storedPrevious
    elseif passed <= window then
      previous = storedCurrent
    end
  end
  local remaining, reset, nextAfter = measure(start, current, previous, now, limit, window)
  local retry = waitFor(start, current, previous, now, cost, limit, window)
  return remaining, retry, reset, nextAfter, stepped, start, current, previous
end

local function commit(key, now, cost, limit, window, start, current, previous)
  current = current + cost
  redis.call('SET', key, packNumbers(start, current, previous), 'PX', 2 * window - (now - start) + TTL_MARGIN_MS)
  return measure(start, current, previous, now, limit, window)
end

local function refund(key, now, amount, atUs, limit, window)
  local _, _, _, _, _, start, current, previous = evaluate(key, now, 0, limit, window)
  local chargedIn = math.floor(atUs / 1000)
  if chargedIn >= start and current > 0 then
    current = math.max(0, current - amount)
  elseif chargedIn < start and chargedIn >= start - window and previous > 0 then
    previous = math.max(0, previous - amount)
  else
    return 0
  end
  commit(key, now, 0, limit, window, start, current, previous)
  return 1
end
