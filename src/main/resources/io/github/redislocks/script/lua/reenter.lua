-- Counts a re-entry of a hold, only once even if the script runs several times, and extends the lease.
-- KEYS     lock, and the fence for a lease of hours
-- ARGV     owner, attempt of the hold, count before, lease(ms)
-- returns  1 | GONE
--@include extend

local held = redis.call('hmget', KEYS[1], 'owner', 'attempt', 'holds')
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] then
    return {'GONE'}
end
-- This write comes first: at maxmemory Redis refuses HINCRBY only until a script has written something.
extend(KEYS[1], ARGV[4])
if KEYS[2] then
    extend(KEYS[2], 100000000 + ARGV[4])
end
if held[3] == ARGV[3] then
    redis.call('hincrby', KEYS[1], 'holds', '1')
end
return 1
