-- Notes that a holder is no longer inside, unless somebody else has come.
-- KEYS     inside, last
-- ARGV     its token
if redis.call('get', KEYS[1]) == ARGV[1] then
    redis.call('del', KEYS[1])
end
