-- The least that a lock can be: a value of its owner's, if there is none, for a time.
-- KEYS     lock
-- ARGV     owner, lease(ms)
-- returns  1 | 0: somebody else has it
return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0
