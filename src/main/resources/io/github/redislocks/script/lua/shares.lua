-- Included by the scripts that let readers in. Needs line.lua.
--
-- While clients read, the hash of the lock has the owner readers, token (the token of the last writer: the version of what
-- they read), attempt (the number of this read phase), lost if the last writer was lost, waited if a writer is in line,
-- and of each client a field s:<client>, its share: 'attempt deadline(µs)'. The hash lasts as long as the last share.
-- No other owner's hash has such a field.
--
-- shares   hash    of each client whose share waits: client -> 'attempt deadline(µs) claim(ms) echo'; the echo is the time
--                  of the request by the client's own clock, by which the client dates a grant
--
-- A share belongs to one attempt: no request for an earlier attempt of the client can touch it.

-- Whether a writer is in line; drops the places before that writer whose time is over.
local function writer_waits()
    while true do
        local first = redis.call('zrange', queue, 0, 0)[1]
        local deadline = first and look(first)
        if not first or (deadline and deadline >= now) then
            return first ~= nil
        end
        drop(first)
    end
end

-- Returns what the value of a fence says about the last writer: the token, and 1 if the writer was lost.
local function version_of(last)
    if not last then
        return string.format('%.0f', now), 0
    end
    return string.match(last, '^%d+'), released(last) and 0 or 1
end

-- Whether a free lock with this fence is for the shares that wait first: nobody has handed it on since the last writer, who
-- was lost or kept it beyond its release.
local function is_for_readers(last)
    return last and (not released(last) or string.sub(last, -1) == KEPT)
end

-- Writes a share; begins a read phase if the lock is free.
local function join(client, attempt, lease, version, lost)
    if redis.call('exists', lock) == 0 then
        redis.call('hset', lock, 'owner', READERS, 'attempt', string.format('%.0f', now), 'holds', 0, 'token', version)
        redis.call('pexpire', lock, lease)
        if lost == 1 then
            redis.call('hset', lock, 'lost', 1)
        end
        if redis.call('exists', queue) == 1 then
            redis.call('hset', lock, 'waited', 1)
        end
        -- Without a mark the next writer learns that the last one was lost, even if nobody ends this read phase.
        redis.call('set', fence, lost == 1 and version or version .. '-', 'px', memory(lease))
    end
    -- The write that grows comes first, so that a full memory refuses a new share.
    redis.call('hset', lock, 's:' .. client, string.format('%.0f %.0f', attempt, now + lease * 1000))
    extend(lock, lease)
end

-- Writes the place of a share that waits.
local function stand(client, attempt, claim, echo)
    local text = string.format('%.0f %.0f %.0f ', attempt, now + claim * 1000, claim) .. echo
    redis.call('hset', shares, client, text)
    redis.call('pexpire', shares, LINE)
    if redis.call('exists', lock) == 1 then
        redis.call('hset', lock, 'waited', 'shares')
    end
end

-- Lets in all shares that wait and whose clients can be notified; nobody else may have the lock. The client `asker` needs
-- no message, since it reads the reply, and gets the full lease. Returns whether a share went in.
local function let_in(version, lost, asker, lease)
    local any = false
    local waiting = redis.call('hgetall', shares)
    local recalled = #waiting > 0 and writer_waits() and 1 or 0
    for i = 1, #waiting, 2 do
        local client, text = waiting[i], waiting[i + 1]
        local attempt, claim, echo = string.match(text, '^(%d+) %d+ (%d+) (%S+)$')
        if not lasting(text) then
            redis.call('hdel', shares, client)
        elseif
            client == asker
            or told(client, attempt, string.format(' share %s %s %d %d', version, echo, recalled, lost))
        then
            redis.call('hdel', shares, client)
            join(client, attempt, client == asker and lease or claim, version, lost)
            any = true
        end
    end
    return any
end

-- The turn of readers after a writer: lets in all shares that wait. A writer `place` stays behind them; with a claim the
-- place is in line before they go in, so that they learn of it. Returns the reply to that writer, or nil if no share went
-- in.
local function readers_turn(last, place, claim)
    if redis.call('exists', shares) == 0 then
        return nil
    end
    if claim then
        line_up(place, 1, claim)
    end
    local version, lost = version_of(last)
    if not let_in(version, lost) then
        return nil
    end
    local pttl = redis.call('pttl', lock)
    return claim and {'QUEUED', tonumber(version), pttl, now} or {'BUSY', pttl, now}
end

-- The turn of writers, after readers: grants the free lock to the first live writer, else lets in all shares that wait,
-- else leaves it free.
local function writers_turn(version, lost, asker, lease)
    local last = lost == 1 and version or version .. '+'
    if grant(last, '') or let_in(version, lost, asker, lease) then
        return {'GRANTED'}
    end
    return {'FREED', remember(last)}
end

-- Lets in the shares that wait if no writer is in line any more, and does nothing while a writer has the lock. Clients that
-- read have closed their shares for that writer: they are told to ask, and so learn that they may open them again.
local function unlined(held)
    if held[1] == READERS and not writer_waits() then
        if redis.call('hdel', lock, 'waited') == 1 then
            tell(READERS, nil, ' 0 ' .. held[3])
        end
        let_in(held[3], held[4] and 1 or 0)
    elseif not held[1] and redis.call('exists', shares) == 1 and not writer_waits() then
        let_in(version_of(redis.call('get', fence)))
    end
end
