-- Ends a vote of a node of a quorum, and tells the first that waits that it should ask.
-- KEYS     lock, queue, waiters, fence
-- ARGV     owner, attempt, ballot: a later vote stays,
--          how: released (in good order), lost (its hold was once returned to its caller) or unheld (it never was),
--          place: keep the owner's place in line; or hush: keep it and tell nobody, as another has the lock; left out:
--          drop it
-- returns  ENDED 1, as a text, since a table costs Redis more | GONE
local owner, ballot, how = ARGV[1], tonumber(ARGV[3]), ARGV[4]
local call = redis.call
local held = call('hmget', KEYS[1], 'owner', 'attempt', 'ballot', 'token')
local mine = held[1] == owner and held[2] == ARGV[2] and tonumber(held[3]) <= ballot
if mine then
    local token = held[4]
    if how == 'released' and call('get', KEYS[4]) == token .. ' ' .. token .. ' 1' then
        -- The usual case, kept short: as the vote left it.
        call('del', KEYS[1])
        call('set', KEYS[4], token .. ' ' .. token .. ' 0', 'px', '100000000')
    else
--@include ballot
        token = tonumber(token)
        local before = call('hmget', lock, 'after', 'lost')
        call('del', lock)
        local highest = math.max(counted(), token)
        if how == 'unheld' then
            count(highest, tonumber(before[1]), tonumber(before[2]), 0)
        else
            count(highest, token, how == 'released' and RELEASED or FORCED, 0)
        end
    end
end
if call('exists', KEYS[2], KEYS[3]) == 0 then
    -- Nobody waits: what follows takes longer to define than all else here takes to run.
    return mine and 'ENDED 1' or {'GONE'}
end

local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
--@include hold
--@include line

-- Tells the first live place that can be told, other than one, that it should ask; it stays where it is.
local function tell_first(except)
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

local place = owner .. ':' .. ARGV[2]
local left = not ARGV[5] and look(place)
if left then
    drop(place)
end
-- Who leaves may have been told before, and takes that with it.
if (mine or left) and ARGV[5] ~= 'hush' and redis.call('exists', lock) == 0 then
    tell_first(place)
end
return mine and 'ENDED 1' or {'GONE'}
