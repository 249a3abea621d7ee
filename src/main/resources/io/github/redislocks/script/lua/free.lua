-- Ends a hold without waiters: the usual case, kept short.
-- KEYS     lock, fence
-- ARGV     owner, attempt
-- returns  1 | LINE: there may be waiters, so release has to be used
local call = redis.call
local held = call('hmget', KEYS[1], 'owner', 'attempt', 'waited', 'token')
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] or held[3] then
    return {'LINE'}
end
call('del', KEYS[1])
if call('append', KEYS[2], '+') == 1 then
    call('set', KEYS[2], held[4] .. '+', 'px', 100000000)
end
return 1
