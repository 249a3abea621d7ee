-- Tells whether anybody holds the lock, and by which token.
-- KEYS     lock
-- ARGV     none
-- returns  LOCKED token | FREE
local token = redis.call('hget', KEYS[1], 'token')
if token then
    return {'LOCKED', token}
end
return {'FREE'}
