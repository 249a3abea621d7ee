-- A resource that checks fencing tokens.
-- KEYS[1] a hash: value, fence
-- ARGV    token; the value to write, or nothing
-- Returns the value; -1 if a greater token was here before.
local fence = tonumber(redis.call('hget', KEYS[1], 'fence') or '0')
if fence > tonumber(ARGV[1]) then
    return -1
end
redis.call('hset', KEYS[1], 'fence', ARGV[1])
if ARGV[2] then
    redis.call('hset', KEYS[1], 'value', ARGV[2])
end
return tonumber(redis.call('hget', KEYS[1], 'value') or '0')
