-- Reports whether the lock is held, and the token of its hold.
-- KEYS     lock
-- ARGV     none
-- returns  LOCKED token | FREE
local token = redis.call('hget', KEYS[1], 'token')
if token then
    return {'LOCKED', token}
end
return {'FREE'}
