-- Puts a value in the place of the fence, or removes the lock, for tests.
-- KEYS     lock, queue, waiters, fence
-- ARGV     the fence's value, or '' to delete the lock
-- returns  DONE
if ARGV[1] == '' then
    redis.call('del', KEYS[1])
else
    redis.call('set', KEYS[4], ARGV[1], 'px', 60000)
end
return {'DONE'}
