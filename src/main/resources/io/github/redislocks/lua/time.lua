-- Tells the time of Redis, by which it dates everything.
-- KEYS     none
-- ARGV     none
-- returns  TIME now(µs)
local time = redis.call('time')
return {'TIME', time[1] * 1000000 + time[2]}
