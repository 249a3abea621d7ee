-- Puts a value in the place of the fence, removes the lock or the fence, or makes a lock that never expires, for tests.
-- KEYS     lock, queue, waiters, fence
-- ARGV     the fence's value, '' to delete the lock, '-' to delete the fence, or 'stay' for a lock without an expiry
-- returns  DONE
if ARGV[1] == '' then
    redis.call('del', KEYS[1])
elseif ARGV[1] == '-' then
    redis.call('del', KEYS[4])
elseif ARGV[1] == 'stay' then
    redis.call('hset', KEYS[1], 'owner', 'a:1', 'attempt', 1, 'holds', 1)
else
    redis.call('set', KEYS[4], ARGV[1], 'px', 60000)
end
return {'DONE'}
