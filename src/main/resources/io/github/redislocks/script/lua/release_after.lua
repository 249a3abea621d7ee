-- Ends a hold, and keeps the lock taken without an owner for a time that counts from the start of the hold; the token is
-- that start. If the time is over, hands the lock on. A kept lock expires by itself and counts as released. A second run
-- changes nothing and only writes the same values again, so that replicas can confirm them.
-- KEYS     lock, queue, waiters, fence, conditions, shares
-- ARGV     owner, attempt, time since the start of the hold(ms)
-- returns  KEPT pttl | FREED crowded(1|0) | GRANTED | GONE
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include hold
--@include line
--@include shares
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
-- If the clock was set back, the token is in the future: then the time counts from now.
local since = tonumber(ARGV[3])
local left = math.min(since, since + math.ceil((held[3] - now) / 1000))
if left < 1 then
    return pass_on(held[3] .. '+', '', '', '', '', '0')
end
redis.call('del', lock)
redis.call('hset', lock, 'owner', NOBODY, 'attempt', '0', 'holds', '0', 'token', held[3], 'kept', hold_of)
redis.call('pexpire', lock, left)
redis.call('set', fence, held[3] .. KEPT, 'px', memory(left))
-- Have the first waiters ask, so that they learn when to ask again: no script publishes the expiry. A waiter may leave
-- before the expiry, so notify several.
for _, place in ipairs(redis.call('zrange', queue, 0, 15)) do
    notify(place, 0, 0)
end
local waiting = redis.call('exists', shares) == 1 and redis.call('hgetall', shares) or {}
for i = 1, #waiting, 2 do
    local attempt = lasting(waiting[i + 1])
    if attempt then
        told(waiting[i], string.format('%.0f', attempt), ' 0 0')
    end
end
return {'KEPT', left}
