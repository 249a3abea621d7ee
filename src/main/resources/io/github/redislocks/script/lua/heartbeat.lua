-- Renews the place of an attempt, and grants it the lock if the lock is free and no place is ahead; also reports an
-- earlier grant. If the place is gone, the attempt gets a new place in the queue, even if it waited in a Condition: its
-- signal may have been lost.
-- KEYS     lock, queue, waiters, fence, conditions, shares
-- ARGV     owner, attempt, notAfter(µs), wanted holds, claim(ms)
-- returns  GRANTED token lost now | QUEUED last-token pttl now | WAITING last-token now | LATE now
local owner, attempt, claim = ARGV[1], ARGV[2], tonumber(ARGV[5])
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then
    return {'LATE', now}
end

--@include hold
--@include line
--@include shares

local place = owner .. ':' .. attempt
local held = redis.call('hmget', lock, 'owner', 'attempt', 'token', 'lost')
if held[1] == owner and held[2] == attempt then
    -- Extend for a claim only, since the client may have vanished after this request.
    extend(lock, claim)
    return {'GRANTED', tonumber(held[3]), held[4] and 1 or 0, now}
end

local _, _, _, id, order = look(place)
local last = not held[1] and redis.call('get', fence)
local lost = last and not released(last) or held[1] == READERS and held[4]
if order and order ~= '' then
    -- The lock has a fence as long as there are waiters: without a fence, take would not see them.
    if not extend(fence, MEMORY) or lost then
        -- The holder vanished, perhaps with a signal, or the server has lost data. The next attempt that takes the lock
        -- wakes all waiters. Perhaps there is no next attempt, so this attempt queues.
        drop(place)
    else
        note(place, tonumber(ARGV[4]), claim, ' ' .. id .. ' ' .. order)
        redis.call('pexpire', conditions, LINE)
        return {'WAITING', last_token(), now}
    end
end
line_up(place, tonumber(ARGV[4]), claim)
if held[1] then
    recall(held[1], held[2])
elseif not (is_for_readers(last) and readers_turn(last)) then
    local winner, token, previous = grant(last, place, claim)
    if winner == place then
        return {'GRANTED', token, previous, now}
    end
end
return {'QUEUED', last_token(), redis.call('pttl', lock), now}
