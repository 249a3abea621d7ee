-- Sets how many permits there are, and serves the waiters. Permits above a smaller size stay until they are given back.
-- KEYS     pool, queue, waiters, fence
-- ARGV     size
-- returns  OK previous: the size before, 0 if Redis did not know it
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include hold
--@include permits

local previous = tonumber(redis.call('hget', pool, 'size') or '0')
redis.call('hset', pool, 'size', ARGV[1])
redis.call('pexpire', pool, MEMORY)
serve(tonumber(ARGV[1]))
return {'OK', previous}
