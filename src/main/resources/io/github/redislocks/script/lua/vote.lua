-- Gives the vote of a node of a quorum to an attempt if the vote is free, or extends the vote that the attempt has.
-- KEYS     lock, fence; or for a place in line lock, queue, waiters, fence, conditions
-- ARGV     owner, attempt, ballot: a number that grows with each vote that the client asks for, lease(ms), notAfter(µs),
--          token: the wanted one; then optional: from(µs): the server's time before which it gives no new vote,
--          run-id: of the wanted server, or '' for any, claim(ms), or '' for no place in line, suspect: as in
--          acquire, or 0, lapsed: for a renewal only, which names the token of a hold that must not have ended: the token of a
--          later vote that expired here and is known to have had no majority; or 0
-- returns  VOTED token after lost kept now, as a text if the lock was free, since a table costs Redis more: token is the
--          wanted one or, if that was counted before, the next, and never behind the server's time; after is the token of
--          the previous hold, and lost is above 0 unless that hold was released; kept is 1 if the attempt had the vote
--          | TAKEN owner pttl now | YOUNG wait(ms) now
--          | GONE lapsed: the token of a later vote that expired, or 0 | STALE | LATE now | OTHER
local call = redis.call
local time = call('time')
local now = time[1] * 1000000 + time[2]
if (ARGV[8] or '') ~= '' and not string.find(call('info', 'server'), 'run_id:' .. ARGV[8], 1, true) then
    return {'OTHER'}
end
if now > tonumber(ARGV[5]) then
    return {'LATE', now}
end

-- The least token, in microseconds: a client that does not know the time may want an old token. A request takes time, so
-- tokens may be behind by a second.
local least = now - 1000000

-- The usual case, kept short: a free lock, and a token greater than all that were counted.
if not ARGV[7] and call('exists', KEYS[1]) == 0 then
    local token, said = ARGV[6], call('get', KEYS[2])
    local highest, last, lost = string.match(said or '0 0 0', '^(%d+) (%d+) ([012])$')
    if math.max(tonumber(highest) + 1, least) <= tonumber(token) then
        call('hset', KEYS[1], 'owner', ARGV[1], 'attempt', ARGV[2], 'ballot', ARGV[3], 'holds', '1',
            'token', token, 'after', last, 'lost', lost)
        call('pexpire', KEYS[1], ARGV[4])
        call('set', KEYS[2], token .. ' ' .. token .. ' 1', 'px', string.format('%.0f', 100000000 + ARGV[4]))
        return 'VOTED ' .. token .. ' ' .. last .. ' ' .. lost .. string.format(' 0 %.0f', now)
    end
end

local owner, attempt, ballot, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local wanted, claim = tonumber(ARGV[6]), tonumber(ARGV[9])
local lapsed = tonumber(ARGV[11])
local renewal = lapsed ~= nil
--@include ballot
--@include extend

local place = owner .. ':' .. ARGV[2]

-- Takes a place in the queue. Includes its functions here, since defining them takes longer than the rest of this script.
local function line_up_for(claim)
--@include hold
--@include line
    line_up(place, 1, claim)
end

-- Reads the hash only if it exists: a read of a missing hash takes longer.
local held = redis.call('exists', lock) == 0 and {}
    or redis.call('hmget', lock, 'owner', 'attempt', 'ballot', 'token', 'after', 'lost')
if held[1] and held[1] ~= owner then
    local pttl = redis.call('pttl', lock)
    if claim then
        line_up_for(claim)
    end
    return {'TAKEN', held[1], pttl, now}
end

local highest, last, lost = counted()
local token = renewal and wanted or wanted >= least and math.max(wanted, highest + 1) or math.max(now, highest + 1)
local holder = tonumber(held[2] or 0)
if holder > attempt then
    return {'STALE'}
end
if held[1] then
    if holder == attempt then
        -- This write comes first: at maxmemory Redis refuses the others only until a script has written something.
        extend(lock, lease)
        token = tonumber(held[4])
        if tonumber(held[3]) <= ballot then
            -- A hold has one token: a renewal brings the token to a server that had counted further. A late request changes nothing.
            token = renewal and wanted or math.max(wanted, token)
            count(math.max(highest, token), token, EXPIRED, redis.call('pttl', lock))
            redis.call('hset', lock, 'token', string.format('%.0f', token), 'ballot', ARGV[3])
        end
        return {'VOTED', token, tonumber(held[5]), tonumber(held[6]), 1, now}
    end
end
if renewal and last >= wanted then
    -- A later vote ends this hold, since the later vote may have become a hold. But a vote that the renewal names as
    -- lapsed had no majority, and so was no hold.
    local later = last > wanted and lost == EXPIRED and last or 0
    if last > wanted and (later == 0 or later ~= lapsed) or last == wanted and lost ~= EXPIRED then
        return {'GONE', later}
    end
end
local from = tonumber(ARGV[7] or 0)
if now < from then
    return {'YOUNG', math.ceil((from - now) / 1000), now}
end
if held[1] then
    -- An earlier call of this thread left this vote behind. It counts as a lost hold only if lock() had returned it.
    if holder > tonumber(ARGV[10] or 0) then
        last, lost = tonumber(held[5]), tonumber(held[6])
    end
    redis.call('del', lock)
end
redis.call('hset', lock, 'owner', owner, 'attempt', ARGV[2], 'ballot', ARGV[3], 'holds', '1',
    'token', string.format('%.0f', token), 'after', string.format('%.0f', last), 'lost', tostring(lost))
redis.call('pexpire', lock, lease)
count(math.max(highest, token), token, EXPIRED, lease)
if claim then
    -- The attempt may get no majority; then this node notifies it when the lock is free.
    line_up_for(claim)
end
return string.format('VOTED %.0f %.0f %d 0 %.0f', token, last, lost, now)
