-- Reports the token of the last writer, unless a writer has the lock; writes one for a lock that has none.
-- KEYS     lock, queue, waiters, fence, conditions, shares
-- ARGV     none
-- returns  OK version 0 now; the version is 0 while a writer has the lock
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include hold
--@include line

local held = redis.call('hmget', lock, 'owner', 'token')
if held[1] then
    local shared = held[1] == READERS or held[1] == NOBODY
    return {'OK', shared and tonumber(held[2]) or 0, 0, now}
end
if last_token() == 0 then
    remember(string.format('%.0f+', now))
end
return {'OK', last_token(), 0, now}
