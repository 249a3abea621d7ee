-- Included by the scripts that hand the lock on: the line of waiters, and how one of them becomes the owner.
-- Needs KEYS lock, queue, waiters, fence and the local now(µs).
--
-- lock     hash    owner, attempt, holds, token, lost (the hold before it was not released), waited (somebody queues)
-- queue    zset    owner of a place, in order of arrival; the score stays when the place is renewed
-- waiters  hash    owner of a place -> 'attempt deadline(µs) claim(ms) holds'
-- fence    string  the last token, and a '+' behind it once its hold has been released in good order
local lock, queue, waiters, fence = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local DAY = 86400000

-- The token after the one in the fence, and 1 if the hold of that one was never released.
local function mint(last)
    if not last then
        return now, 0
    end
    local released = string.sub(last, -1) == '+'
    local number = tonumber(released and string.sub(last, 1, -2) or last)
    return number < now and now or number + 1, released and 0 or 1
end

local function own(owner, attempt, holds, lease, token, lost)
    redis.call('hset', lock, 'owner', owner, 'attempt', attempt, 'holds', holds, 'token', token, 'lost', lost,
        'waited', redis.call('exists', queue))
    redis.call('pexpire', lock, lease)
    redis.call('set', fence, token, 'px', DAY)
end

-- A lease only ever grows: a late request must not shorten it under a validity that a later one has promised.
local function extend(lease)
    if redis.call('pttl', lock) < tonumber(lease) then
        redis.call('pexpire', lock, lease)
    end
end

local function last_token()
    local last = redis.call('get', fence)
    return last and tonumber(string.match(last, '^%d+')) or 0
end

-- The attempt, deadline, claim and wanted holds of an owner's place, or nil.
local function place(owner)
    local text = redis.call('hget', waiters, owner)
    if not text then
        return nil
    end
    local attempt, deadline, claim, holds = string.match(text, '^(%d+) (%d+) (%d+) (%d+)$')
    return tonumber(attempt), tonumber(deadline), tonumber(claim), tonumber(holds)
end

local function drop(owner)
    redis.call('zrem', queue, owner)
    redis.call('hdel', waiters, owner)
end

local function put(owner, score, attempt, holds, claim, life)
    redis.call('zadd', queue, string.format('%.0f', score), owner)
    redis.call('hset', waiters, owner,
        string.format('%.0f %.0f %.0f %.0f', attempt, now + life * 1000, claim, holds))
    redis.call('pexpire', queue, 2 * life)
    redis.call('pexpire', waiters, 2 * life)
    if redis.call('exists', lock) == 1 then
        redis.call('hset', lock, 'waited', 1)
    end
end

-- Takes a place at the tail, or renews the one that this attempt has, in its order.
local function line_up(owner, attempt, holds, claim, life)
    local score = place(owner) == attempt and tonumber(redis.call('zscore', queue, owner))
    if not score then
        local tail = redis.call('zrange', queue, -1, -1, 'withscores')
        score = tail[2] and tonumber(tail[2]) + 1 or 0
        if score < now then
            score = now
        end
    end
    put(owner, score, attempt, holds, claim, life)
end

-- Whether the client of a waiter was reached. A PUBLISH that the channel ACL refuses says nothing, and counts as yes.
local function told(owner, attempt, token, lost)
    local mailbox = string.match(lock, '^[^{]*') .. 'mailbox:' .. string.match(owner, '^(.*):')
    local reached = redis.pcall('publish', mailbox, string.format('%.0f %.0f %d', attempt, token, lost))
    return type(reached) == 'table' or reached > 0
end

-- Makes the first live waiter that can be told the owner, for a claim; the asker needs no message, for it reads the
-- answer, and gets its lease. Takes the fence's value; returns the new owner, its token and lost, or nil.
local function grant(last, asker, lease)
    local token, lost = mint(last)
    local from = 0
    while true do
        local page = redis.call('zrange', queue, from, from + 15)
        if #page == 0 then
            return nil
        end
        for _, owner in ipairs(page) do
            local attempt, deadline, claim, holds = place(owner)
            if not attempt or deadline < now then
                drop(owner)
            elseif owner == asker or told(owner, attempt, token, lost) then
                drop(owner)
                own(owner, attempt, holds, owner == asker and lease or claim, token, lost)
                return owner, token, lost
            else
                from = from + 1
            end
        end
    end
end
