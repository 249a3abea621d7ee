-- Extends the lease of an owner's permits, or a claim to the wanted lease; never makes permits.
-- KEYS     pool, queue, waiters, fence
-- ARGV     owner, attempt, lease(ms), 0 to look only
-- returns  OK | GONE
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include permits_record
--@include hold
--@include permits

local place = ARGV[1] .. ':' .. ARGV[2]
return {prolong(place, redis.call('hget', pool, place), ARGV[3]) and 'OK' or 'GONE'}
