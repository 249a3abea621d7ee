-- Ends an owner's permits and serves the waiters.
-- KEYS     pool, queue, waiters, fence
-- ARGV     owner, attempt
-- returns  FREED 0 | GONE
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include hold
--@include permits

if not give_back(ARGV[1] .. ':' .. ARGV[2], false, true) then
    return {'GONE'}
end
serve(tonumber(redis.call('hget', pool, 'size') or '0'))
return {'FREED', 0}
