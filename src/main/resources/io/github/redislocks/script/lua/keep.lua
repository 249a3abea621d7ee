-- Extends the lease of a vote, and counts a re-entry if asked to, only once even if the script runs several times; never
-- makes a vote.
-- KEYS     lock, and the fence when its expiry is to be extended too
-- ARGV     owner, attempt, ballot, lease(ms), then for a re-entry the count before, or ''; then optional:
--          run-id: of the wanted server
-- returns  OK | GONE | OTHER
--@include extend

local held = redis.call('hmget', KEYS[1], 'owner', 'attempt', 'ballot', 'holds')
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] then
    return {'GONE'}
end
if ARGV[6] and not string.find(redis.call('info', 'server'), 'run_id:' .. ARGV[6], 1, true) then
    return {'OTHER'}
end
-- This write comes first: at maxmemory Redis refuses the other commands only until a script has written something.
extend(KEYS[1], ARGV[4])
-- From now on no withdrawal that was sent before this request can end the vote.
if tonumber(held[3]) < tonumber(ARGV[3]) then
    redis.call('hset', KEYS[1], 'ballot', ARGV[3])
end
if held[4] == ARGV[5] then
    redis.call('hincrby', KEYS[1], 'holds', 1)
end
if KEYS[2] then
    redis.call('pexpire', KEYS[2], 100000000 + redis.call('pttl', KEYS[1]))
end
return {'OK'}
