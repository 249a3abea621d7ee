-- Included by the scripts that run on a node of a quorum: how a node counts tokens. Needs KEYS lock, queue, waiters, fence;
-- or lock, fence.
--
-- lock     hash    as in line.lua, and: ballot (the number of the vote; a withdrawal of an earlier vote does not end it),
--                  after and lost: last and lost of the fence before this vote
-- queue    zset    waiters to notify when the lock is free; no waiter is granted the lock
-- fence    string  'highest last lost': the greatest token that was counted here, even for a vote without a majority;
--                  the token of the last hold that a caller may have had, and how that hold ended

local lock, fence = KEYS[1], KEYS[4] or KEYS[2]

-- The end of a hold: released; still held or expired; forced, or left behind by its owner's client.
local RELEASED, EXPIRED, FORCED = 0, 1, 2

-- Reads the fence.
local function counted()
    local highest, last, lost = string.match(redis.call('get', fence) or '0 0 0', '^(%d+) (%d+) ([012])$')
    return tonumber(highest), tonumber(last), tonumber(lost)
end

-- Writes the fence. It expires after MEMORY (see hold.lua) plus the time that the hold lasts, in ms.
local function count(highest, last, lost, lasts)
    redis.call('set', fence, string.format('%.0f %.0f %d', highest, last, lost),
        'px', string.format('%.0f', 100000000 + lasts))
end
