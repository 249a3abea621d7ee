-- Takes the lock for an attempt; if it is busy, takes or renews the attempt's place in the queue, or replies BUSY.
-- KEYS     lock, queue, waiters, fence, conditions, shares
-- ARGV     owner, attempt, lease(ms), notAfter(µs), claim(ms), or '' for no place,
--          suspect: the highest attempt of the client whose hold was lost after lock() had returned it,
--          mode: 'barge' takes a free lock even if there are waiters; 'queue' takes it only if no place is ahead. An
--          attempt that does not wait, and whose client listens, passes 'try' instead of 'barge', and 'queue try'
--          instead of 'queue';
--          then, if the owner is a residence, the last token that its client gave out
-- returns  OK token lost now | BUSY pttl now | QUEUED last-token pttl now | LATE now
--          | RESIDENT pttl now, if a residence has the lock
--          | RESIDENT pttl now asked, if clients share the lock: how many of these clients were asked
local owner, attempt, lease, claim = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[5])
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

-- Too late: the caller has given up by now.
if now > tonumber(ARGV[4]) then
    return {'LATE', now}
end

local call = redis.call
local place = owner .. ':' .. attempt
local try = string.find(ARGV[7], 'try') and attempt .. ' ' .. string.match(owner, '^(.*):')
local held = call('hmget', KEYS[1], 'owner', 'attempt', 'token', 'lost')

--@include hold
--@include busy

-- The lock is free and has no waiters; only its fence may exist.
if not held[1] and call('exists', KEYS[2], KEYS[5], KEYS[6]) == 0 then
    local token, lost = mint(call('get', KEYS[4]))
    hold(KEYS[1], KEYS[4], owner, attempt, 1, lease, token)
    if lost == 1 then
        call('hset', KEYS[1], 'lost', 1)
    end
    return {'OK', token, lost, now}
end

-- Another owner holds the lock, and the attempt has no place: the usual case under contention, kept short.
if held[1] and held[1] ~= owner and not call('hget', KEYS[3], place) then
    local pttl = call('pttl', KEYS[1])
    if not claim then
        return busy(held, pttl, try)
    end
    local first = call('hsetnx', KEYS[1], 'waited', 1) == 1
    call('hset', KEYS[3], place, plain(ARGV[5]))
    call('pexpire', KEYS[3], LINE)
    call('zadd', KEYS[2], string.format('%.0f', (tail())), place)
    call('pexpire', KEYS[2], LINE)
    if first or held[1] ~= READERS then
        recall(held[1], held[2])
    end
    return {'QUEUED', tonumber(held[3]), pttl, now}
end

--@include line
--@include shares

-- Another owner holds the lock, or a later attempt of this thread does: then this request is late.
local holder = tonumber(held[2] or 0)
if held[1] and (held[1] ~= owner or holder > tonumber(attempt)) then
    local pttl = redis.call('pttl', lock)
    if not claim then
        return busy(held, pttl, try)
    end
    line_up(place, 1, claim)
    recall(held[1], held[2])
    return {'QUEUED', last_token(), pttl, now}
end

local last
if held[2] == attempt then
    extend(lock, lease)
    if #lease > 7 then
        -- The hold may have had a claim only, and has a lease of hours now, which the fence must outlast.
        redis.call('pexpire', fence, memory(lease))
    end
    return {'OK', tonumber(held[3]), held[4] and 1 or 0, now}
elseif held[1] then
    -- An earlier attempt left this hold behind, and the thread does not know of it: end the hold.
    last = abandon(held[3], holder <= tonumber(ARGV[6]), held[4], redis.call('hget', lock, 'signal'), ARGV[8])
else
    last = redis.call('get', fence)
end

-- After a writer, even one that is left behind, the shares that wait go first.
local reply = last and (held[1] or is_for_readers(last)) and readers_turn(last, place, claim)
if reply then
    return reply
end

if string.find(ARGV[7], 'queue') and redis.call('exists', queue) == 1 then
    if claim then
        line_up(place, 1, claim)
    end
    local winner, token, lost = grant(last, place, lease)
    if winner == place then
        return {'OK', token, lost, now}
    end
    if winner and claim then
        return {'QUEUED', token, redis.call('pttl', lock), now}
    end
    -- No waiter could be notified, but a place is ahead of this attempt, and its client will ask.
    if winner or redis.call('exists', queue) == 1 then
        if held[1] and not winner then
            remember(last)
        end
        return {'BUSY', 0, now}
    end
else
    drop(place)
end
local token, lost = mint(last)
own(owner, attempt, 1, lease, token, lost)
return {'OK', token, lost, now}
