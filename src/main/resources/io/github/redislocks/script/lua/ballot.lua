-- Included by the scripts that run on a node of a quorum: how a node counts tokens. Needs line.lua.
--
-- lock     hash    as in line.lua, and: ballot (the number of the vote; a withdrawal of an earlier one does not end it),
--                  after and lost, which the fence said before
-- queue    zset    who wants to know when the lock is free; nobody is granted it
-- fence    string  'highest last lost': the greatest token that was counted here, also for a vote that came to nothing;
--                  the token of the last hold that somebody may have had, and how that ended

-- How a hold ended: in good order; not yet, or by its lease; by force, or left behind by its owner's client.
local RELEASED, EXPIRED, FORCED = 0, 1, 2

-- What the fence says.
local function counted()
    local highest, last, lost = string.match(redis.call('get', fence) or '0 0 0', '^(%d+) (%d+) ([012])$')
    return tonumber(highest), tonumber(last), tonumber(lost)
end

-- Remembered for its time after the hold that it tells of.
local function count(highest, last, lost)
    local memory = MEMORY + math.max(0, redis.call('pttl', lock))
    redis.call('set', fence, string.format('%.0f %.0f %d', highest, last, lost), 'px', string.format('%.0f', memory))
end

-- Tells the first live place that can be told, other than one, that it should ask; it stays where it is.
local function rouse(except)
    local from = 0
    while true do
        local page = redis.call('zrange', queue, from, from + 15)
        if #page == 0 then
            return
        end
        for _, place in ipairs(page) do
            local deadline = look(place)
            if not deadline or deadline < now then
                drop(place)
            elseif place ~= except and told(place, 0, 0) then
                return
            else
                from = from + 1
            end
        end
    end
end
