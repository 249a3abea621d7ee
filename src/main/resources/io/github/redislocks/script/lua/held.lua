-- Reports whether a hold still exists; changes nothing.
-- KEYS     lock
-- ARGV     owner, attempt
-- returns  1 | GONE
local held = redis.call('hmget', KEYS[1], 'owner', 'attempt')
return held[1] == ARGV[1] and held[2] == ARGV[2] and 1 or {'GONE'}
