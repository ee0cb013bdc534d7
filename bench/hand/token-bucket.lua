#!lua
local cost, full, token = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local rate, tick = tonumber(ARGV[5]), tonumber(ARGV[6])
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local at = us - us % tick
local used, stepped = 0, false
local value = redis.call('GET', KEYS[1])
if value then
  local storedAt, scale
  used, storedAt, scale = struct.unpack('ddd', value)
  if scale ~= token then
    local whole = math.floor(used / scale)
    used = whole * token + math.ceil((used - whole * scale) * token / scale)
  end
  if at < storedAt then
    stepped = true
  else
    local elapsed = math.floor((at - storedAt) / tick)
    if elapsed >= used / rate then used = 0 else used = used - elapsed * rate end
  end
end
local needed = cost * token
local retry = 0
if needed > full then
  retry = -1
elseif needed > math.max(0, full - used) then
  retry = math.ceil(math.ceil((needed - full + used) / rate) * tick / 1000)
else
  used = used + needed
end
local reset = math.ceil(math.ceil(used / rate) * tick / 1000)
if retry == 0 or stepped then redis.call('SET', KEYS[1], struct.pack('ddd', used, at, token), 'PX', reset + 1000) end
local remaining = math.max(0, math.floor((full - used) / token))
local missing = math.min(used, (remaining + 1) * token - full + used)
return { us, remaining, retry, reset, math.ceil(math.ceil(missing / rate) * tick / 1000) }
