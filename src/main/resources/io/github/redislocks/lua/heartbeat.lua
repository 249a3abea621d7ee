-- Asks for the lock from a place in line: keeps the place alive, and finds a grant or a free lock by itself.
-- KEYS     lock, queue, waiters, fence
-- ARGV     owner, attempt, notAfter(µs), wanted holds, claim(ms), life(ms) of the place
-- returns  GRANTED token lost now | QUEUED last-token pttl now | STALE | LATE now
local owner, attempt, claim = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[5])
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then
    return {'LATE', now}
end

--@include line

local held = redis.call('hmget', lock, 'owner', 'attempt', 'token', 'lost')
if held[1] == owner and tonumber(held[2]) == attempt then
    -- By a claim only: the client may have gone since it asked.
    extend(claim)
    return {'GRANTED', tonumber(held[3]), tonumber(held[4]), now}
end
local placed = place(owner)
if (held[1] == owner and tonumber(held[2]) > attempt) or (placed and placed > attempt) then
    return {'STALE'}
end

line_up(owner, attempt, tonumber(ARGV[4]), claim, tonumber(ARGV[6]))
if not held[1] then
    local winner, token, lost = grant(redis.call('get', fence), owner, claim)
    if winner == owner then
        return {'GRANTED', token, lost, now}
    end
end
return {'QUEUED', last_token(), redis.call('pttl', lock), now}
