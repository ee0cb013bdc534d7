#!lua
local cost, full, token, rate = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local now = math.floor(us / 1000)
local used, stepped = 0, false
local value = redis.call('GET', KEYS[1])
if value then
  local at, scale
  used, at, scale = struct.unpack('ddd', value)
  if scale ~= token then
    local whole = math.floor(used / scale)
    used = whole * token + math.ceil((used - whole * scale) * token / scale)
  end
  if used > full then used = full end
  if now < at then
    stepped = true
  else
    local elapsed = now - at
    if elapsed >= used / rate then used = 0 else used = used - elapsed * rate end
  end
end
local needed = cost * token
local retry = 0
if needed > full then
  retry = -1
elseif needed > full - used then
  retry = math.ceil((needed - full + used) / rate)
else
  used = used + needed
end
local reset = math.ceil(used / rate)
if retry == 0 or stepped then redis.call('SET', KEYS[1], struct.pack('ddd', used, now, token), 'PX', reset + 1000) end
local level, nextAfter = full - used, 0
if used > 0 then nextAfter = math.ceil(math.min(used, token - level % token) / rate) end
return { us, math.floor(level / token), retry, reset, nextAfter }
