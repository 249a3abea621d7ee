-- Asks for a share of a client, in which all its readers read, or for a place; also the heartbeat of a share that waits.
-- KEYS     lock, queue, waiters, fence, conditions, shares
-- ARGV     client, attempt, lease(ms), notAfter(µs), claim(ms), or '' for no place, echo: the time of the request by the
--          client's own clock, which a grant by message repeats; 'try' if the attempt does not wait and its client listens
-- returns  OK version lost now recalled(1: a writer is in line | 0) | QUEUED version pttl now | BUSY pttl now |
--          RESIDENT pttl now: a client keeps the lock to write | STALE: a later attempt of the client has a share or a
--          place | LATE now
local client, attempt, lease, claim = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[5])
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

-- Too late: the caller has given up by now.
if now > tonumber(ARGV[4]) then
    return {'LATE', now}
end

--@include hold
--@include busy
--@include line
--@include shares
--@include part

local mine = 's:' .. client
local held = redis.call('hmget', lock, 'owner', 'attempt', 'token', 'lost', 'waited', mine)
local has = lasting(held[6])
local placed = lasting(redis.call('hget', shares, client))
-- Read-write locks need the right to HGETALL, which other locks do not need. This call comes before the first write, so
-- that a user without the right is refused before anything has changed.
redis.call('hgetall', shares)
if (has or 0) > attempt or (placed or 0) > attempt then
    return {'STALE'}
end

local function granted()
    held = redis.call('hmget', lock, 'owner', 'attempt', 'token', 'lost', 'waited')
    return {'OK', tonumber(held[3]), held[4] and 1 or 0, now, held[5] and 1 or 0}
end

if has == attempt then
    local _, deadline = lasting(held[6])
    extend(lock, lease)
    redis.call('hset', lock, mine, string.format('%.0f %.0f', attempt, math.max(deadline, now + lease * 1000)))
    return granted()
end

-- An earlier attempt left a share behind, of which the client does not know: end it.
local version, lost, last = held[3], held[4] and 1 or 0, nil
if has and not part(client) then
    held[1] = false
elseif not held[1] then
    last = redis.call('get', fence)
    version, lost = version_of(last)
end

-- No writer has the lock or is in line: all who wait go in.
local free = not held[1]
if free or held[1] == READERS then
    if not writer_waits() then
        if held[5] then
            redis.call('hdel', lock, 'waited')
        end
        if placed then
            redis.call('hdel', shares, client)
        end
        join(client, attempt, lease, version, lost)
        let_in(version, lost)
        return granted()
    end
    if not claim then
        return {'BUSY', redis.call('pttl', lock), now}
    end
    stand(client, attempt, claim, ARGV[6])
    if free then
        if not (is_for_readers(last) and let_in(version, lost, client, lease)) then
            writers_turn(version, lost, client, lease)
        end
        if lasting(redis.call('hget', lock, mine)) == attempt then
            return granted()
        end
    end
else
    if not claim then
        return busy(held, redis.call('pttl', lock), ARGV[7] and string.format('%.0f ', attempt) .. client)
    end
    stand(client, attempt, claim, ARGV[6])
    recall(held[1], held[2])
end
return {'QUEUED', last_token(), redis.call('pttl', lock), now}
