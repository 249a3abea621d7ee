-- Moves the first, or all, that wait in a Condition to the queue, once however often it runs.
-- KEYS     lock, queue, waiters, fence, conditions
-- ARGV     owner, attempt of the hold, number of the signal, Condition's id, all (1|0)
-- returns  SIGNALLED, then the places that were moved, as far as this run moved them | GONE
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
    -- Changes nothing but comes first: at maxmemory Redis refuses writes that grow only until a script has written.
    redis.call('hdel', lock, '')
    redis.call('hset', lock, 'signal', ARGV[3])
    repeat
        local place = signal(ARGV[4])
        reply[#reply + 1] = place
    until not place or ARGV[5] == '0'
end
return reply
