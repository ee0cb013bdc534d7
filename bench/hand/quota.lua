#!lua
local cost, limit, start, stop = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local part, partStop = tonumber(ARGV[6]), tonumber(ARGV[7])
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local now = math.floor(us / 1000)
if now < start or now >= stop then return { us } end
local since, count, stepped, room = start, 0, false, limit
if stop == partStop then room = part end
local value = redis.call('GET', KEYS[1])
if value then
  local storedStart, storedCount = struct.unpack('dd', value)
  stepped = now < storedStart
  if storedStart >= start then count = storedCount end
  if not stepped and storedStart > start then since = storedStart end
end
local left, retry = stop - now, 0
if cost > limit then
  retry = -1
elseif cost > math.max(0, room - count) then
  retry = left
  if cost > part and stop < partStop then retry = partStop - now end
else
  count = count + cost
end
if retry == 0 or stepped then redis.call('SET', KEYS[1], struct.pack('dd', since, count), 'PX', left + 1000) end
local remaining, reset, growth = math.max(0, room - count), 0, 0
if count > 0 then
  reset, growth = left, left
  if remaining >= part and stop < partStop then growth = partStop - now end
end
return { us, remaining, retry, reset, growth }
