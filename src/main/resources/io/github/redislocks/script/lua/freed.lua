-- Included by the scripts that end several holds.

-- Ends a hold behind which nobody waits, as free does; false if there may be waiters, or if there is no such hold. Last
-- is the last token that a client gave out under it, or ''
local function freed(lock, fence, owner, attempt, last)
    local held = redis.call('hmget', lock, 'owner', 'attempt', 'waited', 'token')
    if held[1] ~= owner or held[2] ~= attempt or held[3] then
        return false
    end
    redis.call('del', lock)
    if last ~= '' or redis.call('append', fence, '+') == 1 then
        redis.call('set', fence, (last ~= '' and last or held[4]) .. '+', 'px', 100000000)
    end
    return true
end
