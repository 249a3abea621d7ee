-- Extends the leases of many shares of one client; never makes a share. A key of another type, made by another program,
-- is no share and affects no other share.
-- KEYS     lock, fence, queue and waiters of each
-- ARGV     client, lease(ms), then the attempt for each lock
-- returns  OK, if all exist, or else GONE; then the index of each missing share, counted from 0, and the number of shares
--          plus the index of each share for whose lock a writer is in line
--@include extend

local lease = ARGV[2]
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
local mine, count, reply = 's:' .. ARGV[1], #KEYS / 4, {'OK'}

-- Whether a writer is in line whose time is not over.
local function writer_lives(queue, waiters)
    for _, place in ipairs(redis.pcall('zrange', queue, 0, -1)) do
        local text = redis.pcall('hget', waiters, place)
        local deadline = type(text) == 'string' and string.match(text, '^%d+')
        if deadline and tonumber(deadline) >= now then
            return true
        end
    end
    return false
end

for i = 1, count do
    local lock, fence = KEYS[4 * i - 3], KEYS[4 * i - 2]
    local held = redis.pcall('hmget', lock, mine, 'waited')
    if held.err and not string.find(held.err, 'WRONGTYPE', 1, true) then
        return held
    end
    local attempt, deadline = string.match(held[1] or '', '^(%d+) (%d+)$')
    if attempt == ARGV[2 + i] and tonumber(deadline) >= now then
        extend(lock, lease)
        redis.call('hset', lock, mine, attempt .. string.format(' %.0f', math.max(tonumber(deadline), now + lease * 1000)))
        -- The fence has to outlast even a read phase of days, since it has the version. The condition makes this
        -- write rare.
        if redis.call('pttl', fence) < 100000000 - 10000000 then
            extend(fence, 100000000 + lease)
        end
        if held[2] and writer_lives(KEYS[4 * i - 1], KEYS[4 * i]) then
            reply[#reply + 1] = count + i - 1
        elseif held[2] then
            -- The writers in line have died. Without this field the next one recalls the shares.
            redis.call('hdel', lock, 'waited')
        end
    else
        reply[1] = 'GONE'
        reply[#reply + 1] = i - 1
    end
end
return reply
