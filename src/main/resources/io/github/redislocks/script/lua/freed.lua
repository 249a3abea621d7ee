-- Included by the scripts that end several holds.

-- Ends a hold without waiters, as free does; returns false if there may be waiters, or if there is no such hold. `last` is
-- the last token that a client gave out under the hold, or ''. A key of another type, made by another program, affects no
-- other hold.
local function freed(lock, fence, owner, attempt, last)
    local held = redis.pcall('hmget', lock, 'owner', 'attempt', 'waited', 'token')
    if held[1] ~= owner or held[2] ~= attempt or held[3] then
        return false
    end
    redis.call('del', lock)
    local length = last == '' and redis.pcall('append', fence, '+')
    if type(length) ~= 'number' or length == 1 then
        redis.call('set', fence, (last ~= '' and last or held[4]) .. '+', 'px', 100000000)
    end
    return true
end
