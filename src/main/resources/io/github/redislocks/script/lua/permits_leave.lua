-- Removes an attempt from the queue, ends the permits that it has got meanwhile, and serves the waiters.
-- KEYS     pool, queue, waiters, fence
-- ARGV     owner, attempt, returned (1: the caller had got the permits, so the end is a loss | 0),
--          notAfter(µs): until when an unanswered request of the attempt may still run, or 0
-- returns  DONE wait
--          wait(ms): for how long such a request may still run, after which another leave is needed; 0 if no request
--          can run
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include permits_record
--@include hold
--@include permits

local place = ARGV[1] .. ':' .. ARGV[2]
drop(place)
give_back(place, ARGV[3] == '1', false)
serve_all()
local left = tonumber(ARGV[4]) - now
return {'DONE', left < 0 and 0 or math.floor(left / 1000) + 1}
