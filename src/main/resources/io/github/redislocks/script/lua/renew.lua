-- Extends the lease of a hold, or a claim to the wanted lease; never makes a hold.
-- KEYS     lock, and the fence if it has to be refreshed too, or for a lease of hours
-- ARGV     owner, attempt, lease(ms), and 'watched' if the lock has to be read at the end
-- returns  OK, and 1 if there are waiters for the lock | GONE
--@include extend
--@include forget

local held = redis.call('hmget', KEYS[1], 'owner', 'attempt', 'waited')
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] then
    if ARGV[4] and redis.call('exists', KEYS[1]) == 0 then
        forget(KEYS[1])
    end
    return {'GONE'}
end
extend(KEYS[1], ARGV[3])
if KEYS[2] then
    extend(KEYS[2], 100000000 + ARGV[3])
end
if ARGV[4] then
    -- Read after the last write: to a client that watches, the server reports changes since the last read.
    redis.call('exists', KEYS[1])
end
return held[3] and {'OK', 1} or {'OK'}
