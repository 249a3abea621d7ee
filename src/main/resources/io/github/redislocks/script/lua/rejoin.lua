-- Ends the wait in a Condition of an attempt that timed out or was interrupted: the attempt queues for the lock, so
-- that await can return with it.
-- KEYS     lock, queue, waiters, fence, conditions, shares
-- ARGV     owner, attempt, notAfter(µs), holds to get back, claim(ms)
-- returns  GRANTED token lost now | QUEUED last-token pttl now | SIGNALLED now: a signal had come | LATE now
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
local held = redis.call('hmget', lock, 'owner', 'attempt', 'token', 'lost', 'signal')
if held[1] == owner and held[2] == attempt then
    if held[5] then
        return {'SIGNALLED', now}
    end
    -- An earlier copy of this request led to this hold, or the loss of a holder woke all waiters.
    extend(lock, claim)
    return {'GRANTED', tonumber(held[3]), held[4] and 1 or 0, now}
end
local _, _, _, id, order = look(place)
if order and order ~= '' then
    drop(place)
elseif id and id ~= '' then
    return {'SIGNALLED', now}
end
line_up(place, tonumber(ARGV[4]), claim)
if held[1] then
    recall(held[1], held[2])
else
    local last = redis.call('get', fence)
    if not (is_for_readers(last) and readers_turn(last)) then
        local winner, token, lost = grant(last, place, claim)
        if winner == place then
            return {'GRANTED', token, lost, now}
        end
    end
end
return {'QUEUED', last_token(), redis.call('pttl', lock), now}
