-- Ends a vote of a node of a quorum, and notifies the first waiter, which then asks.
-- KEYS     lock, queue, waiters, fence
-- ARGV     owner, attempt, ballot: a later vote stays,
--          how: released, lost (lock() had returned the hold) or unheld (lock() had not),
--          place: keep the owner's place in the queue; or hush: keep it and notify nobody, since another owner has the
--          lock; if left out, drop the place
-- returns  ENDED 1, as a text, since a table costs Redis more | GONE
local owner, ballot, how = ARGV[1], tonumber(ARGV[3]), ARGV[4]
local call = redis.call
local held = call('hmget', KEYS[1], 'owner', 'attempt', 'ballot', 'token')
local mine = held[1] == owner and held[2] == ARGV[2] and tonumber(held[3]) <= ballot
if mine then
    local token = held[4]
    if how == 'released' and call('get', KEYS[4]) == token .. ' ' .. token .. ' 1' then
        -- The usual case, kept short: the fence is unchanged since the vote.
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
    -- No waiters: defining the functions below takes longer than the rest of this script.
    return mine and 'ENDED 1' or {'GONE'}
end

local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
--@include hold
--@include line

-- Notifies the first live place whose client can be reached, except the given place; the place stays in the queue.
local function notify_first(except)
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
            elseif place ~= except and notify(place, 0, 0) then
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
-- The place that leaves may have been notified instead of the next place.
if (mine or left) and ARGV[5] ~= 'hush' and redis.call('exists', lock) == 0 then
    notify_first(place)
end
return mine and 'ENDED 1' or {'GONE'}
