-- Ends the wait in a Condition for who was timed out or interrupted: it queues for the lock, with which await returns.
-- KEYS     lock, queue, waiters, fence, conditions
-- ARGV     owner, attempt, notAfter(µs), holds to get back, claim(ms)
-- returns  GRANTED token lost now | QUEUED last-token pttl now | SIGNALLED now: it had been signalled before | LATE now
local owner, attempt = ARGV[1], tonumber(ARGV[2])
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then
    return {'LATE', now}
end

--@include hold
--@include line

local held = redis.call('hmget', lock, 'owner', 'attempt')
local placed, _, _, _, id, order = place(owner)
if (held[1] == owner and tonumber(held[2]) == attempt) or (placed == attempt and id ~= '' and order == '') then
    return {'SIGNALLED', now}
end
if placed == attempt and order ~= '' then
    drop(owner)
end
line_up(owner, attempt, tonumber(ARGV[4]), tonumber(ARGV[5]))
if not held[1] then
    local winner, token, lost = grant(redis.call('get', fence), owner, ARGV[5])
    if winner == owner then
        return {'GRANTED', token, lost, now}
    end
end
return {'QUEUED', last_token(), redis.call('pttl', lock), now}
