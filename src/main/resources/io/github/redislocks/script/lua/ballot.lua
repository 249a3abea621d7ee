-- Included by the scripts that run on a node of a quorum: how a node counts tokens. Needs KEYS lock, queue, waiters, fence;
-- or lock, fence.
--
-- lock     hash    as in line.lua, and: ballot (the number of the vote; a withdrawal of an earlier one does not end it),
--                  after and lost, which the fence said before
-- queue    zset    who wants to know when the lock is free; nobody is granted it
-- fence    string  'highest last lost': the greatest token that was counted here, also for a vote that came to nothing;
--                  the token of the last hold that somebody may have had, and how that ended

local lock, fence = KEYS[1], KEYS[4] or KEYS[2]

-- How a hold ended: in good order; not yet, or by its lease; by force, or left behind by its owner's client.
local RELEASED, EXPIRED, FORCED = 0, 1, 2

-- What the fence says.
local function counted()
    local highest, last, lost = string.match(redis.call('get', fence) or '0 0 0', '^(%d+) (%d+) ([012])$')
    return tonumber(highest), tonumber(last), tonumber(lost)
end

-- Remembered for its time (MEMORY in hold.lua) after the hold that it tells of, which lasts for so many ms.
local function count(highest, last, lost, lasts)
    redis.call('set', fence, string.format('%.0f %.0f %d', highest, last, lost),
        'px', string.format('%.0f', 100000000 + lasts))
end
