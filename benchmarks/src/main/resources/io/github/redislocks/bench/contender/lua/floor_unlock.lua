-- The least that an unlock can be: removes the owner's value and no other.
-- KEYS     lock
-- ARGV     owner
-- returns  1 | 0: it was not there
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
end
return 0
