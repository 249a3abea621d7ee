-- Counts an inner unlock of a hold, only once even if the script runs several times, and never ends the hold.
-- KEYS     lock
-- ARGV     owner, attempt of the hold, count before
-- returns  1 | GONE
local call = redis.call
local held = call('hmget', KEYS[1], 'owner', 'attempt', 'holds')
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] then
    return {'GONE'}
end
if held[3] == ARGV[3] and held[3] ~= '1' then
    -- This write changes nothing, but comes first: at maxmemory Redis refuses HINCRBY only until a script has written
    -- something.
    call('hdel', KEYS[1], '')
    call('hincrby', KEYS[1], 'holds', '-1')
end
return 1
