-- Shows what a lock has in Redis, for tests.
-- KEYS     lock, queue, waiters, fence
-- ARGV     none
-- returns  PEEK owner attempt holds token lost waited pttl fence fence-pttl, then queue's owners in order; '-' for what is missing
local hash = redis.call('hmget', KEYS[1], 'owner', 'attempt', 'holds', 'token', 'lost', 'waited')
local reply = {'PEEK'}
for i = 1, 6 do
    reply[#reply + 1] = hash[i] or '-'
end
reply[#reply + 1] = redis.call('pttl', KEYS[1])
reply[#reply + 1] = redis.call('get', KEYS[4]) or '-'
reply[#reply + 1] = redis.call('pttl', KEYS[4])
for _, owner in ipairs(redis.call('zrange', KEYS[2], 0, -1)) do
    reply[#reply + 1] = owner
end
return reply
