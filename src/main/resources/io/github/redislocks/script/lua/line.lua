-- Included by the scripts that hand the lock on: the queue of waiters, and how one of them becomes the owner. Needs
-- KEYS lock, queue, waiters, fence, conditions, shares, the local now(µs), and hold.lua. For readers see shares.lua.
--
-- lock     hash    owner, attempt, holds, token; lost=1 if the previous hold was not released; waited=1 if there are
--                  waiters in the queue or a Condition, 'shares' if also shares wait; signal: '@' and a Condition's id if
--                  a signal of that Condition led to the hold, and after the holder has signalled, the number of its last
--                  signal. If the lock stays taken after a release, the owner is nobody, and kept is 'owner:attempt' of
--                  the released hold
-- queue    zset    places, in order of arrival; the score stays when the place is renewed
-- waiters  hash    place -> 'deadline(µs) claim(ms) holds', then, for a waiter in a Condition, 'id order'; for a
--                  signalled waiter 'id', until the waiter has the lock, since its signal must not be lost
-- fence    string  the last token; once the owner has released the hold with this token, a mark follows: '+' if the
--                  lock is free and neither queue, conditions nor shares exists, on which take.lua relies; '*' if the
--                  release keeps the lock taken; else '-'
-- conditions zset  'id order place' of each waiter in a Condition. All scores are 0, so the members are sorted as text:
--                  each Condition in order of arrival
--
-- A place is 'owner:attempt', so it belongs to one attempt only. What an earlier attempt of the same thread left behind
-- is another place, and no request for the one can touch the other.
local lock, queue, waiters, fence, conditions, shares = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]

-- The owner of a lock that is kept after its release. An owner that may hold the lock contains a colon.
local NOBODY = 'nobody'

--@include extend

local function last_token()
    local last = redis.call('get', fence)
    return last and tonumber(string.match(last, '^%d+')) or 0
end

-- Returns the deadline, claim and wanted holds of a place, then the id of its Condition, and its order in that
-- Condition. The id is '' if the place is in no Condition and was not signalled; the order is '' if the place is in no
-- Condition. Returns nil if there is no such place.
local function look(place)
    local text = redis.call('hget', waiters, place)
    if not text then
        return nil
    end
    local deadline, claim, holds, id, order = string.match(text, '^(%d+) (%d+) (%d+) ?(%S*) ?(%d*)$')
    return tonumber(deadline), tonumber(claim), tonumber(holds), id, order
end

local function write(place, deadline, claim, holds, condition)
    redis.call('hset', waiters, place, string.format('%.0f %.0f %.0f', deadline, claim, holds) .. condition)
end

-- A place lives as long as a claim: a client that does not confirm a grant loses its places as well.
local function note(place, holds, claim, condition)
    write(place, now + claim * 1000, claim, holds, condition)
    redis.call('pexpire', waiters, LINE)
end

-- Whether there are waiters, in the queue or in a Condition, or shares that wait.
local function crowded()
    return redis.call('exists', queue, conditions, shares) > 0
end

-- Writes the fence of a lock that is free now. Returns 1 if there are waiters, else 0.
local function remember(last)
    local lined = crowded()
    if lined then
        last = string.gsub(last, '%+', '-')
    end
    redis.call('set', fence, last, 'px', MEMORY)
    return lined and 1 or 0
end

local function put(place, score, holds, claim, condition)
    redis.call('zadd', queue, string.format('%.0f', score), place)
    redis.call('pexpire', queue, LINE)
    note(place, holds, claim, condition)
    if redis.call('exists', lock) == 1 then
        -- Writes nothing if the field exists: each write ends the tracking of the key.
        redis.call('hsetnx', lock, 'waited', 1)
    end
end

-- Moves the first live waiter of a Condition to the queue, with a signal; dead places are dropped. Returns the moved
-- place, or nil if there was no live waiter.
local function signal(id)
    while true do
        local first = redis.call('zrangebylex', conditions, '[' .. id .. ' ', '(' .. id .. '!', 'limit', 0, 1)[1]
        if not first then
            return nil
        end
        redis.call('zrem', conditions, first)
        local place = string.match(first, '([^ ]*)$')
        local deadline, claim, holds = look(place)
        if deadline and deadline >= now then
            put(place, tail(), holds, claim, ' ' .. id)
            return place
        end
        redis.call('hdel', waiters, place)
    end
end

-- Moves all waiters of all Conditions to the queue, since a holder that was lost may have taken their signals with it.
-- The waiters return without a signal, which the contract of Condition allows.
local function wake()
    for _, member in ipairs(redis.call('zrange', conditions, 0, -1)) do
        local place = string.match(member, '([^ ]*)$')
        local deadline, claim, holds = look(place)
        if deadline and deadline >= now then
            put(place, tail(), holds, claim, '')
        else
            redis.call('hdel', waiters, place)
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
        redis.call('hset', lock, 'waited', redis.call('exists', shares) == 1 and 'shares' or 1)
        redis.call('pexpire', queue, LINE)
        redis.call('pexpire', waiters, LINE)
    end
end

-- Ends a hold that its owner did not release, and returns the value for the fence. If lock() never returned the hold, the
-- hold counts as released, and what it had is passed on: the report of a loss to the next holder, a signal to the next
-- waiter of the Condition. The argument `given` is the last token that the client of a residence gave out, or nil.
local function abandon(token, returned, lost, mark, given)
    redis.call('del', lock)
    if given and tonumber(given) > tonumber(token) then
        token = given
    end
    if returned or lost then
        return token
    end
    if mark and string.sub(mark, 1, 1) == '@' then
        signal(string.sub(mark, 2))
    end
    return token .. '+'
end

-- Removes a place from the queue or its Condition; its signal, if any, goes to the next waiter.
local function drop(place)
    local deadline, _, _, id, order = look(place)
    redis.call('zrem', queue, place)
    redis.call('hdel', waiters, place)
    if deadline and id ~= '' then
        if order ~= '' then
            redis.call('zrem', conditions, id .. ' ' .. order .. ' ' .. place)
        else
            signal(id)
        end
    end
end

-- Takes a place at the tail, or renews the existing place without changing its order.
local function line_up(place, holds, claim)
    local _, _, _, id = look(place)
    local score = tonumber(redis.call('zscore', queue, place) or nil)
    put(place, score or tail(), holds, claim, score and id and id ~= '' and ' ' .. id or '')
end

--@include told

local function notify(place, token, lost)
    local client, attempt = string.match(place, '^(.*):[^:]*:(%d+)$')
    return told(client, attempt, string.format(' %.0f %d', token, lost))
end

-- Grants the lock, for a claim, to the first live place whose client can be notified. The place of the asker needs no
-- message, since its client reads the reply, and gets the full lease. The argument `last` is the value of the fence.
-- Returns the place, its token and lost, or nil.
local function grant(last, asker, lease)
    local token, lost = mint(last)
    local from = 0
    while true do
        local page = redis.call('zrange', queue, from, from + 15)
        if #page == 0 then
            return nil
        end
        for _, place in ipairs(page) do
            local deadline, claim, holds, id = look(place)
            if not deadline or deadline < now then
                drop(place)
            elseif place == asker or notify(place, token, lost) then
                redis.call('zrem', queue, place)
                redis.call('hdel', waiters, place)
                local owner, attempt = string.match(place, '^(.*):(%d+)$')
                own(owner, attempt, holds, place == asker and lease or claim, token, lost)
                if id ~= '' then
                    redis.call('hset', lock, 'signal', '@' .. id)
                end
                return place, token, lost
            else
                if id ~= '' then
                    -- The waiter may be dead, and its signal would be lost. If the waiter lives, it wakes without a
                    -- signal.
                    write(place, deadline, claim, holds, '')
                    signal(id)
                end
                from = from + 1
            end
        end
    end
end
