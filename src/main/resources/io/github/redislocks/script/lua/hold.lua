-- Included by the scripts that make holds and places. Needs KEYS lock, queue, waiters, fence and the local now(µs).
local MEMORY = '100000000'

-- How long the fence lasts: more than a day longer than a hold with this lease may last.
local function memory(lease)
    return tonumber(lease) < 10000000 and MEMORY or string.format('%.0f', MEMORY + lease)
end

-- The mark of a hold whose release keeps the lock taken.
local KEPT = '*'

-- Whether the hold with the last token was released; the mark after the token in the fence says so.
local function released(last)
    local mark = string.sub(last, -1)
    return mark == '+' or mark == '-' or mark == KEPT
end

-- Returns the next token, and 1 if the hold with the last token was never released.
local function mint(last)
    if not last then
        return now, 0
    end
    local number = tonumber(string.match(last, '^%d+'))
    return number < now and now or number + 1, released(last) and 0 or 1
end

-- Writes a hold of a free lock. Numbers are passed as text, since Redis would spend more time on converting each of
-- them than on the command.
local function hold(lock, fence, owner, attempt, holds, lease, token)
    local text = string.format('%.0f', token)
    redis.call('hset', lock, 'owner', owner, 'attempt', attempt, 'holds', holds, 'token', text)
    redis.call('pexpire', lock, lease)
    redis.call('set', fence, text, 'px', memory(lease))
end

-- How long an idle queue lasts. Each script that grants the lock to a waiter renews this time, at the latest after each
-- 10 s, so that the queue always lasts longer than any place may live.
local LINE = 30000

-- Publishes a message only to subscribers of this server, which the server can count; replicas do not forward it. A
-- client may listen at a replica that was the master when the client subscribed. That client would believe that it is
-- the owner, although the master counted no receiver and granted the lock to another waiter.
local function publish(mailbox, message)
    redis.set_repl(redis.REPL_NONE)
    local reached = redis.pcall('publish', mailbox, message)
    redis.set_repl(redis.REPL_ALL)
    return reached
end

-- The text of a place, in the format of line.lua, that wants one hold and waits in no Condition.
local function plain(claim)
    return string.format('%.0f ', now + claim * 1000) .. claim .. ' 1'
end

-- Returns a score behind all places of the queue, even if the clock was set back, and whether there are other places.
local function tail()
    local last = redis.call('zrange', KEYS[2], -1, -1, 'withscores')
    local score = last[2] and tonumber(last[2]) + 1 or 0
    return score < now and now or score, #last > 0
end

-- The owner of a lock that clients share to read. The fields s:<client> are their shares: see shares.lua.
local READERS = 'readers'

-- Returns the attempt and the deadline of a share by its text, or nil if there is no such share or its time is over.
local function lasting(share)
    local attempt, deadline = string.match(share or '', '^(%d+) (%d+)')
    if deadline and tonumber(deadline) >= now then
        return tonumber(attempt), tonumber(deadline)
    end
    return nil
end

-- Sends a message to the client that keeps the lock, or to each client that shares it; for any other owner to none. The
-- message follows the attempt of the hold or share. Returns the number of clients.
local function tell(owner, attempt, message)
    local mailbox = string.match(KEYS[1], '^[^{]*') .. 'mailbox:'
    local client = string.match(owner, '^(.*):r%d+$')
    if client then
        publish(mailbox .. client, attempt .. message)
        return 1
    end
    local count, fields = 0, owner == READERS and redis.call('hgetall', KEYS[1]) or {}
    for i = 1, #fields, 2 do
        local number = lasting(fields[i + 1])
        if number then
            publish(mailbox .. string.sub(fields[i], 3), string.format('%.0f', number) .. message)
            count = count + 1
        end
    end
    return count
end

-- Asks the clients that keep or share the lock to give it up for a waiter. For a try, which does not wait, each client
-- only has to answer. See ADR 37.
local function recall(owner, attempt, try)
    return tell(owner, attempt, (try and ' try ' .. try .. ' ' or ' recall ') .. KEYS[1])
end
