-- Included by the scripts that hand the lock on: the line of waiters, and how one of them becomes the owner.
-- Needs KEYS lock, queue, waiters, fence, conditions, the local now(µs), and hold.lua.
--
-- lock     hash    owner, attempt, holds, token, and if so lost=1 (the hold before was not released), waited=1 (somebody
--                  queues, or waits in a Condition), signal (the number of the last)
-- queue    zset    owner of a place, in order of arrival; the score stays when the place is renewed
-- waiters  hash    owner of a place -> 'attempt deadline(µs) claim(ms) holds', then for one that waits in a Condition
--                  'id order', and for one that was signalled 'id', until it has the lock: its signal must not be lost
-- fence    string  the last token, and a mark behind it once its hold has been released in good order: a '+' if the lock
--                  is free and neither queue nor conditions is there, for which take.lua takes its word; else a '-'
-- conditions zset  all scores 0: 'id order owner' of who waits in a Condition, so that each is in order of arrival
local lock, queue, waiters, fence, conditions = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

--@include extend

local function last_token()
    local last = redis.call('get', fence)
    return last and tonumber(string.match(last, '^%d+')) or 0
end

-- The attempt, deadline, claim and wanted holds of an owner's place, then its Condition's id and its order there, both ''
-- if it has none; or nil.
local function place(owner)
    local text = redis.call('hget', waiters, owner)
    if not text then
        return nil
    end
    local attempt, deadline, claim, holds, id, order = string.match(text, '^(%d+) (%d+) (%d+) (%d+) ?(%S*) ?(%d*)$')
    return tonumber(attempt), tonumber(deadline), tonumber(claim), tonumber(holds), id, order
end

local function write(owner, attempt, deadline, claim, holds, condition)
    redis.call('hset', waiters, owner,
        string.format('%.0f %.0f %.0f %.0f', attempt, deadline, claim, holds) .. condition)
end

-- A place lives as long as a claim: whoever does not confirm a grant is not asked again, by none of its places.
local function note(owner, attempt, holds, claim, condition)
    write(owner, attempt, now + claim * 1000, claim, holds, condition)
    redis.call('pexpire', waiters, LINE)
end

-- Whether anybody stands in a line.
local function crowded()
    return redis.call('exists', queue, conditions) > 0
end

-- Keeps the last token and its mark, of a lock that is free now. Returns 1 if anybody stands in a line, else 0.
local function remember(last)
    local lined = crowded()
    if lined then
        last = string.gsub(last, '%+', '-')
    end
    redis.call('set', fence, last, 'px', MEMORY)
    return lined and 1 or 0
end

local function put(owner, score, attempt, holds, claim, condition)
    redis.call('zadd', queue, string.format('%.0f', score), owner)
    redis.call('pexpire', queue, LINE)
    note(owner, attempt, holds, claim, condition)
    if redis.call('exists', lock) == 1 then
        redis.call('hset', lock, 'waited', 1)
    end
end

-- Moves the first that waits in a Condition and lives to the queue, its signal with it; the dead are dropped. Returns
-- its owner, or nil if nobody is left.
local function signal(id)
    while true do
        local first = redis.call('zrangebylex', conditions, '[' .. id .. ' ', '(' .. id .. '!', 'limit', 0, 1)[1]
        if not first then
            return nil
        end
        redis.call('zrem', conditions, first)
        local owner = string.match(first, '([^ ]*)$')
        local attempt, deadline, claim, holds = place(owner)
        if attempt and deadline >= now then
            put(owner, tail(), attempt, holds, claim, ' ' .. id)
            return owner
        end
        redis.call('hdel', waiters, owner)
    end
end

-- Moves all that wait in any Condition to the queue: the holder that was lost may have taken their signals with it.
-- They return without one, which the contract of Condition allows.
local function wake()
    for _, member in ipairs(redis.call('zrange', conditions, 0, -1)) do
        local owner = string.match(member, '([^ ]*)$')
        local attempt, deadline, claim, holds = place(owner)
        if attempt and deadline >= now then
            put(owner, tail(), attempt, holds, claim, '')
        else
            redis.call('hdel', waiters, owner)
        end
    end
    redis.call('del', conditions)
end

local function own(owner, attempt, holds, lease, token, lost)
    if lost == 1 then
        wake()
    end
    hold(lock, fence, owner, attempt, holds, lease, token)
    if lost == 1 then
        redis.call('hset', lock, 'lost', 1)
    end
    if crowded() then
        redis.call('hset', lock, 'waited', 1)
        redis.call('pexpire', queue, LINE)
        redis.call('pexpire', waiters, LINE)
    end
end

-- Takes an owner's place away, wherever it is; a signal that it had goes to the next.
local function drop(owner)
    local attempt, _, _, _, id, order = place(owner)
    redis.call('zrem', queue, owner)
    redis.call('hdel', waiters, owner)
    if attempt and id ~= '' then
        if order ~= '' then
            redis.call('zrem', conditions, id .. ' ' .. order .. ' ' .. owner)
        else
            signal(id)
        end
    end
end

-- Takes a place at the tail, or renews the one that this attempt has, in its order.
local function line_up(owner, attempt, holds, claim)
    local mine, _, _, _, id = place(owner)
    local score = mine == attempt and tonumber(redis.call('zscore', queue, owner))
    put(owner, score or tail(), attempt, holds, claim, score and id ~= '' and ' ' .. id or '')
end

-- Whether this server is certain to be no node of a cluster, where a message reaches more than its sender can count.
local function alone()
    local info = redis.pcall('info', 'cluster')
    return type(info) == 'string' and string.find(info, 'cluster_enabled:0', 1, true) ~= nil
end

-- Whether the client of a waiter was reached, or may have been: a PUBLISH that the channel ACL refuses says nothing.
local function told(owner, attempt, token, lost)
    local mailbox = string.match(lock, '^[^{]*') .. 'mailbox:' .. string.match(owner, '^(.*):')
    local reached = redis.pcall('publish', mailbox, string.format('%.0f %.0f %d', attempt, token, lost))
    return type(reached) == 'table' or reached > 0 or not alone()
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
            local attempt, deadline, claim, holds, id = place(owner)
            if not attempt or deadline < now then
                drop(owner)
            elseif owner == asker or told(owner, attempt, token, lost) then
                redis.call('zrem', queue, owner)
                redis.call('hdel', waiters, owner)
                own(owner, attempt, holds, owner == asker and lease or claim, token, lost)
                return owner, token, lost
            else
                if id ~= '' then
                    -- Dead, perhaps, and then nobody would look after its signal. If it lives, it wakes without one.
                    write(owner, attempt, deadline, claim, holds, '')
                    signal(id)
                end
                from = from + 1
            end
        end
    end
end
