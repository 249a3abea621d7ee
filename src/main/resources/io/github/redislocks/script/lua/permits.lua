-- Included by the scripts for permits: which numbers are free, the queue of waiters, and how a waiter gets permits. Needs
-- KEYS pool, queue, waiters, fence, the local now(µs), and hold.lua.
--
-- pool     hash    size; reach, after a resize: how many numbers there are, more than the size as long as permits above a
--                  smaller size are out; place -> 'token deadline(µs) lost number number ...' of each attempt that has permits, where lost is
--                  1 if the previous permits of one of these numbers were not released; and number -> place for each
--                  number that was taken and not given back
-- queue    zset    places in order of arrival
-- waiters  hash    place -> 'deadline(µs) claim(ms) wanted'
-- fence    string  the last token that was given out for any number
--
-- A place is 'owner:attempt', so it belongs to one attempt only, as in line.lua.
local pool, queue, waiters, fence = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

--@include extend
--@include told

-- Returns the token, deadline, lost and numbers of the permits at a place, all but the deadline as text; nil if it has none,
-- or if their lease has ended.
local function permits_of(place)
    local text = redis.call('hget', pool, place)
    local token, deadline, lost, numbers = string.match(text or '', '^(%d+) (%d+) (%d) (.*)$')
    deadline = tonumber(deadline)
    if deadline and deadline >= now then
        return token, deadline, lost, numbers
    end
    return nil
end

local function write(place, token, deadline, lost, numbers)
    redis.call('hset', pool, place, string.format('%s %.0f %s %s', token, deadline, lost, numbers))
end

-- Extends the lease of the permits at a place, and returns their token, lost and numbers; nil if it has none. A lease only
-- grows: a late request must not shorten a lease that a later request has extended. The first write needs no memory, so that
-- a full server does not refuse it.
local function prolong(place, lease)
    local token, deadline, lost, numbers = permits_of(place)
    if token then
        extend(pool, memory(lease))
        extend(fence, memory(lease))
        write(place, token, math.max(deadline, now + tonumber(lease) * 1000), lost, numbers)
    end
    return token, lost, numbers
end

local function last_token()
    return tonumber(redis.call('get', fence) or '0')
end

-- Returns the deadline and claim of a place, and how many permits it wants; nil if there is no such place.
local function look(place)
    local text = redis.call('hget', waiters, place)
    local deadline, claim, wanted = string.match(text or '', '^(%d+) (%d+) (%d+)$')
    return tonumber(deadline), tonumber(claim), tonumber(wanted)
end

local function drop(place)
    redis.call('zrem', queue, place)
    redis.call('hdel', waiters, place)
end

-- Takes a place at the tail, or renews the existing place without changing its order.
local function line_up(place, wanted, claim)
    local score = redis.call('zscore', queue, place)
    if not score then
        redis.call('zadd', queue, string.format('%.0f', (tail())), place)
    end
    redis.call('hset', waiters, place, string.format('%.0f %s %s', now + claim * 1000, claim, wanted))
    redis.call('pexpire', queue, LINE)
    redis.call('pexpire', waiters, LINE)
end

-- Ends the permits at a place; returns whether there were any. Their numbers are given back, but stay marked for the next
-- owner if it has to learn of a loss: of this one, or of an earlier one that no caller has learned of.
local function give_back(place, is_loss, was_returned)
    local _, _, lost, numbers = permits_of(place)
    redis.call('hdel', pool, place)
    if numbers and not is_loss and (was_returned or lost == '0') then
        for number in string.gmatch(numbers, '%d+') do
            redis.call('hdel', pool, number)
        end
    end
    return numbers ~= nil
end

-- Returns the place that has each number; false for a number that nobody took or that was given back. The size is 0 if
-- Redis does not know the pool.
local function places(size)
    local reach = math.max(size, tonumber(redis.call('hget', pool, 'reach') or '0'))
    local numbers = {}
    for i = 1, reach do
        numbers[i] = i - 1
    end
    return reach == 0 and {} or redis.call('hmget', pool, unpack(numbers))
end

-- Looks at all numbers. Returns the free ones below the size, in order, but no more than keep all permits together within
-- the size; a table with those whose last permits were lost; and after how many ms the first of the other permits ends, -1
-- if there is none.
local function survey(size)
    local free, was_lost, taken, ends = {}, {}, 0, -1
    for i, place in ipairs(places(size)) do
        local _, deadline
        if place then
            _, deadline = permits_of(place)
        end
        if deadline then
            local left = math.ceil((deadline - now) / 1000)
            ends = ends < 0 and left or math.min(ends, left)
            taken = taken + 1
        elseif i <= size then
            free[#free + 1] = i - 1
            was_lost[i - 1] = place
        end
    end
    for i = #free, math.max(size - taken, 0) + 1, -1 do
        free[i] = nil
    end
    return free, was_lost, ends
end

-- Returns the first of the free numbers as text, and whether the last permits of one of them were lost (1 | 0).
local function choose(free, was_lost, wanted)
    local numbers, lost = {}, 0
    for i = 1, wanted do
        numbers[i] = free[i]
        lost = was_lost[free[i]] and 1 or lost
    end
    return table.concat(numbers, ' '), lost
end

-- Writes the permits of a place.
local function own(place, numbers, lost, lease, token)
    local text = string.format('%.0f', token)
    for number in string.gmatch(numbers, '%d+') do
        local before = redis.call('hget', pool, number)
        if before then
            -- The lease of these permits has ended, so their record is of no more use.
            redis.call('hdel', pool, before)
        end
        redis.call('hset', pool, number, place)
    end
    write(place, text, now + tonumber(lease) * 1000, lost, numbers)
    extend(pool, memory(lease))
    redis.call('set', fence, text, 'px', memory(lease))
end

-- Publishes a grant; returns whether the message reached the client of the place, or may have.
local function notify(place, token, lost, numbers)
    local client, attempt = string.match(place, '^(.*):[^:]*:(%d+)$')
    return told(client, attempt, string.format(' %.0f %d ', token, lost) .. numbers)
end

-- Gives permits, for a claim, to the first places as long as enough numbers are free; nobody is served before a place that
-- waits for more. A place whose client cannot be notified is passed over: the client may be dead, and asks if it lives.
-- The place of the asker needs no message, since its client reads the reply, and gets the full lease.
-- Returns the token, lost and numbers of the asker, or nil; then after how many ms the first of the permits ends.
local function serve(size, asker, lease)
    local free, was_lost, ends = survey(size)
    local token, lost, numbers
    local from = 0
    while #free > 0 do
        local page = redis.call('zrange', queue, from, from + 15)
        if #page == 0 then
            break
        end
        for _, place in ipairs(page) do
            local deadline, claim, wanted = look(place)
            if not deadline or deadline < now or wanted > size then
                drop(place)
            elseif wanted > #free then
                return token, lost, numbers, ends
            else
                local chosen, mark = choose(free, was_lost, wanted)
                local next_token = mint(redis.call('get', fence))
                if place == asker or notify(place, next_token, mark, chosen) then
                    drop(place)
                    own(place, chosen, mark, place == asker and lease or claim, next_token)
                    for _ = 1, wanted do
                        table.remove(free, 1)
                    end
                    if place == asker then
                        token, lost, numbers = next_token, mark, chosen
                    end
                else
                    from = from + 1
                end
            end
        end
    end
    return token, lost, numbers, ends
end

-- Turns 'number number' into values of a reply.
local function with_numbers(reply, numbers)
    for number in string.gmatch(numbers, '%d+') do
        reply[#reply + 1] = tonumber(number)
    end
    return reply
end
