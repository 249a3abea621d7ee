-- Puts a value in the place of the fence, or removes the lock or the fence, for tests.
-- KEYS     lock, queue, waiters, fence
-- ARGV     the fence's value, '' to delete the lock, or '-' to delete the fence
-- returns  DONE
if ARGV[1] == '' then
    redis.call('del', KEYS[1])
elseif ARGV[1] == '-' then
    redis.call('del', KEYS[4])
else
    redis.call('set', KEYS[4], ARGV[1], 'px', 60000)
end
return {'DONE'}
