-- Moves the first waiter of a Condition, or all of them, to the queue, only once even if the script runs several times.
-- KEYS     lock, queue, waiters, fence, conditions, shares
-- ARGV     owner, attempt of the hold, number of the signal, Condition's id, all (1|0)
-- returns  SIGNALLED, then the places that this run moved | GONE
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include hold
--@include line

local held = redis.call('hmget', lock, 'owner', 'attempt', 'signal')
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] then
    return {'GONE'}
end
local reply = {'SIGNALLED'}
if held[3] ~= ARGV[3] then
    -- This write changes nothing, but comes first: at maxmemory Redis refuses growing writes only until a script has
    -- written something.
    redis.call('hdel', lock, '')
    redis.call('hset', lock, 'signal', ARGV[3])
    repeat
        local place = signal(ARGV[4])
        reply[#reply + 1] = place
    until not place or ARGV[5] == '0'
end
return reply
