-- Extends the lease of a hold; never makes one. Also turns a claim into the wanted lease.
-- KEYS     lock, and the fence when it is time to keep it alive too
-- ARGV     owner, attempt, lease(ms)
-- returns  OK | GONE
local held = redis.call('hmget', KEYS[1], 'owner', 'attempt')
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] then
    return {'GONE'}
end
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[3]) then
    redis.call('pexpire', KEYS[1], ARGV[3])
end
if KEYS[2] then
    redis.call('pexpire', KEYS[2], 86400000)
end
return {'OK'}
