-- Extends the lease of an owner's permits, or a claim to the wanted lease; never makes permits. If Redis has lost its last
-- moment, the attempt's place may have led to other numbers since, with another token.
-- KEYS     pool, queue, waiters, fence
-- ARGV     owner, attempt, lease(ms), 0 to look only; token of the permits
-- returns  OK | GONE
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include permits_record
--@include hold
--@include permits

local place = ARGV[1] .. ':' .. ARGV[2]
local text = redis.call('hget', pool, place)
return {read(text) == ARGV[4] and prolong(place, text, ARGV[3]) and 'OK' or 'GONE'}
