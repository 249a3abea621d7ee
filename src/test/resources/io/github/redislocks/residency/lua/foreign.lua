-- Makes a key one of another program, which knows nothing of locks.
-- KEYS     any
-- ARGV     hash | string: its type
-- returns  OK
redis.call('del', KEYS[1])
if ARGV[1] == 'hash' then
    redis.call('hset', KEYS[1], 'a', 'b')
else
    redis.call('set', KEYS[1], 'a')
end
return {'OK'}
