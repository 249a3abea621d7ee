-- Gives a lock back the state that it had before: what a promoted server knows that did not receive the release.
-- KEYS     lock, fence
-- ARGV     the fence, then field and value of each field of the hash
-- returns  1
redis.call('del', KEYS[1])
for i = 2, #ARGV, 2 do
    redis.call('hset', KEYS[1], ARGV[i], ARGV[i + 1])
end
redis.call('pexpire', KEYS[1], 30000)
redis.call('set', KEYS[2], ARGV[1], 'px', 100000000)
return 1
