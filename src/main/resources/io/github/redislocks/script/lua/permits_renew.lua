-- Extends the lease of an owner's permits, or a claim to the wanted lease; never makes permits.
-- KEYS     pool, queue, waiters, fence
-- ARGV     owner, attempt, lease(ms), 0 to look only
-- returns  OK | GONE
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include hold
--@include permits

return {prolong(ARGV[1] .. ':' .. ARGV[2], ARGV[3]) and 'OK' or 'GONE'}
