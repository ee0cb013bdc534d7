-- N per period of the calendar. Value: start of the period (ms), count. The caller knows the calendar; the
-- script runs only while the server's time lies from start up to stop.

local function evaluate(key, now, cost, limit, start, stop, part, partStop)
  local since, count, stepped, retry, room = start, 0, false, 0, limit
  local value = redis.call('GET', key)
  if value then
    local storedStart, storedCount = struct.unpack('dd', value)
    stepped = now < storedStart
    if storedStart >= start then count = storedCount end
    -- A period that others believe to have begun within this one, while the zone is being changed.
    if not stepped and storedStart > start then since = storedStart end
  end
  if stop == partStop then room = part end
  if cost > limit then
    retry = -1
  elseif cost > math.max(0, room - count) then
    retry = stop - now
    if cost > part and stop < partStop then retry = partStop - now end
  end
  return retry, stepped, since, count
end

local function commit(key, now, cost, limit, start, stop, part, partStop, since, count)
  count = math.min(USE_MAX, count + cost)
  redis.call('SET', key, struct.pack('dd', since, count), 'PX', stop - now + TTL_MARGIN_MS)
  return since, count
end

local function describe(key, now, limit, start, stop, part, partStop, since, count)
  local remaining, left, growth = limit, 0, 0
  if stop == partStop then remaining = part end
  remaining = math.max(0, remaining - count)
  if count > 0 then
    left = stop - now
    growth = left
    if remaining >= part and stop < partStop then growth = partStop - now end
  end
  return remaining, left, growth
end

local function refund(key, now, amount, atUs, limit, start, stop, part, partStop)
  local _, _, since, count = evaluate(key, now, 0, limit, start, stop, part, partStop)
  if count == 0 or atUs < since * 1000 then return 0 end
  commit(key, now, 0, limit, start, stop, part, partStop, since, math.max(0, count - amount))
  return 1
end
