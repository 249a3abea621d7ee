-- Included by the scripts for permits: what Redis knows of a pool, and the end of permits. Needs KEYS pool, queue, waiters,
-- fence, and the local now(µs).
--
-- pool     hash    size; reach, after a resize: how many numbers there are, more than the size as long as permits above a
--                  smaller size are out; place -> 'token deadline(µs) lost number number ...' of each attempt that has
--                  permits, where lost has a digit for each number, 1 if the previous permits of that number were not
--                  released; digits that are left out are 0; and number -> place for each number that was taken and not
--                  given back
-- queue    zset    places in order of arrival
-- waiters  hash    place -> 'deadline(µs) claim(ms) wanted'
-- fence    string  the last token that was given out for any number
--
-- A place is 'owner:attempt', so it belongs to one attempt only, as in line.lua.
local pool, queue, waiters, fence = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

-- Returns the token, deadline, lost and numbers of the permits with this record, all but the deadline as text; nil if there is
-- no record, or if their lease has ended.
local function read(text)
    local token, deadline, lost, numbers = string.match(text or '', '^(%d+) (%d+) (%d+) (.*)$')
    deadline = tonumber(deadline)
    if deadline and deadline >= now then
        return token, deadline, lost, numbers
    end
    return nil
end

-- Ends the permits at a place and gives their numbers back; returns whether there were any. A number stays marked if
-- the next owner has to learn of a loss: if this end is a loss, or if the permits of the number followed a loss and no
-- caller got them.
local function give_back(place, is_loss, was_returned)
    local _, _, lost, numbers = read(redis.call('hget', pool, place))
    local ended, i = {place}, 0
    for number in string.gmatch(numbers and not is_loss and numbers or '', '%d+') do
        i = i + 1
        if was_returned or string.sub(lost, i, i) ~= '1' then
            ended[#ended + 1] = number
        end
    end
    redis.call('hdel', pool, unpack(ended))
    return numbers ~= nil
end

local function record(token, deadline, lost, numbers)
    return string.format('%s %.0f %s %s', token, deadline, lost, numbers)
end

-- Returns the deadline and claim of a place, and how many permits it wants; nil if there is no such place.
local function look(place)
    local text = redis.call('hget', waiters, place)
    local deadline, claim, wanted = string.match(text or '', '^(%d+) (%d+) (%d+)$')
    return tonumber(deadline), tonumber(claim), tonumber(wanted)
end

-- The text of a place in the hash of waiters.
local function waiter(claim, wanted)
    return string.format('%.0f %s %s', now + claim * 1000, claim, wanted)
end

local function drop(place)
    redis.call('zrem', queue, place)
    redis.call('hdel', waiters, place)
end

-- Whether the last grant, whose token is its time, was in the present second. Then a script may go a short way, which looks
-- at no lease: the first script of each second goes the long way, and notices which leases have ended.
local function is_recent(last)
    local text = string.format('%.0f', now)
    return last and last <= text and string.sub(last, 1, -7) == string.sub(text, 1, -7)
end
