-- Notes that a holder of a lock is inside, in the books of the stress.
-- KEYS     inside, last
-- ARGV     its token
-- returns  the token of who else is inside, or ''; the last token, or ''
local inside = redis.call('get', KEYS[1])
local last = redis.call('get', KEYS[2])
redis.call('set', KEYS[1], ARGV[1])
redis.call('set', KEYS[2], ARGV[1])
return {inside or '', last or ''}
