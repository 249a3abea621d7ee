-- Ends a hold, and keeps the lock taken, by nobody, until a time after the beginning of the hold, which is its token; if
-- that time is over, hands the lock on. What is kept ends by itself and was released in good order. Runs once: a second
-- run only writes what is there once more, so that replicas can confirm it.
-- KEYS     lock, queue, waiters, fence, conditions
-- ARGV     owner, attempt, time since the beginning of the hold(ms)
-- returns  KEPT pttl | FREED crowded(1|0) | GRANTED | GONE
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include hold
--@include line
--@include succession

local hold_of = ARGV[1] .. ':' .. ARGV[2]
local held = redis.call('hmget', lock, 'owner', 'attempt', 'token', 'kept')
if held[4] == hold_of then
    local left = redis.call('pttl', lock)
    redis.call('pexpire', lock, math.max(1, left))
    return {'KEPT', left}
end
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] then
    return {'GONE'}
end
-- If the clock was set back, the token is ahead of it: then the time counts from now.
local since = tonumber(ARGV[3])
local left = math.min(since, since + math.ceil((held[3] - now) / 1000))
if left < 1 then
    return pass_on(held[3] .. '+', '', '', '', '', '0')
end
redis.call('del', lock)
redis.call('hset', lock, 'owner', NOBODY, 'attempt', '0', 'holds', '0', 'token', held[3], 'kept', hold_of)
redis.call('pexpire', lock, left)
redis.call('set', fence, held[3] .. '-', 'px', memory(left))
-- Those in front ask, and learn when to ask again: nobody will publish the end, and one of them may leave before it.
for _, place in ipairs(redis.call('zrange', queue, 0, 15)) do
    told(place, 0, 0)
end
return {'KEPT', left}
