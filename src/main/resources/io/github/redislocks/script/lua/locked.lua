-- Reports whether the lock is held, by whom, and the token of its hold.
-- KEYS     lock
-- ARGV     none
-- returns  LOCKED owner attempt token | FREE
local held = redis.call('hmget', KEYS[1], 'owner', 'attempt', 'token')
if held[3] then
    return {'LOCKED', held[1] or '', held[2] or '0', held[3]}
end
return {'FREE'}
