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

local function evaluate(key, now, cost, limit, window)
  local start, current, previous, stepped = now - now % window, 0, 0, false
  local value = redis.call('GET', key)
  if value then
    local storedStart, storedCurrent, storedPrevious = struct.unpack('ddd', value)
    stepped = now < storedStart
    local passed = start - storedStart
    if passed <= 0 then
      current, previous = storedCurrent, storedPrevious
    elseif passed <= window then
      previous = storedCurrent
    end
  end
  return waitFor(start, current, previous, now, cost, limit, window), stepped, start, current, previous
end

local function commit(key, now, cost, limit, window, start, current, previous)
  current = math.min(math.floor(USE_MAX / window), current + cost)
  redis.call('SET', key, struct.pack('ddd', start, current, previous), 'PX', start + 2 * window - now + TTL_MARGIN_MS)
  return start, current, previous
end

local function describe(key, now, limit, window, start, current, previous)
  local offset, reset, nextAfter = now - start, 0, 0
  local used = current * window + previous * (window - offset)
  local remaining = math.max(0, math.floor((limit * window - used) / window))
  if current > 0 then
    reset = 2 * window - offset
  elseif previous > 0 then
    reset = window - offset
  end
  if remaining < limit then nextAfter = waitFor(start, current, previous, now, remaining + 1, limit, window) end
  return remaining, reset, nextAfter
end

local function refund(key, now, amount, atUs, limit, window)
  local _, _, start, current, previous = evaluate(key, now, 0, limit, window)
  local chargedAt = math.floor(atUs / 1000)
  if chargedAt >= start then
    if current == 0 then return 0 end
    current = math.max(0, current - amount)
  else
    if chargedAt < start - window or previous == 0 then return 0 end
    previous = math.max(0, previous - amount)
  end
  commit(key, now, 0, limit, window, start, current, previous)
  return 1
end
