-- Takes the lock for an attempt, or takes or renews its place in line, or says that it is busy.
-- KEYS     lock, queue, waiters, fence
-- ARGV     owner, attempt, lease(ms), notAfter(µs), claim(ms), life(ms) of the place, or '' for no place,
--          suspect: the greatest attempt of the client whose hold was lost after its caller had it
-- returns  OK token lost now | BUSY pttl now | QUEUED last-token pttl now | STALE | LATE now
local owner, attempt, lease = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

-- The caller has given up long ago.
if now > tonumber(ARGV[4]) then
    return {'LATE', now}
end

--@include line

local held = redis.call('hmget', lock, 'owner', 'attempt', 'token', 'lost')
local queued = redis.call('exists', queue) == 1

-- A late copy of an earlier call must not disturb a later one of the same thread.
local placed = queued and place(owner)
if placed and placed > attempt then
    return {'STALE'}
end

local takeover = false
if held[1] == owner then
    local holder = tonumber(held[2])
    if holder > attempt then
        return {'STALE'}
    end
    if holder == attempt then
        extend(lease)
        return {'OK', tonumber(held[3]), tonumber(held[4]), now}
    end
    -- What an earlier call of this thread left behind: the thread knows nothing of it, so nobody holds it.
    takeover = true
end

if takeover or not held[1] then
    local token, lost = mint(redis.call('get', fence))
    if takeover then
        lost = tonumber(held[2]) <= tonumber(ARGV[7]) and 1 or 0
    end
    if placed then
        drop(owner)
    end
    own(owner, attempt, 1, lease, token, lost)
    return {'OK', token, lost, now}
end

local pttl = redis.call('pttl', lock)
if ARGV[6] == '' then
    return {'BUSY', pttl, now}
end
line_up(owner, attempt, 1, tonumber(ARGV[5]), tonumber(ARGV[6]))
return {'QUEUED', last_token(), pttl, now}
