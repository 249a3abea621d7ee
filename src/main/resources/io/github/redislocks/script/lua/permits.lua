-- Included by the scripts for permits: which numbers are free, the queue of waiters, and how a waiter gets permits. Needs
-- permits_record.lua and hold.lua.
--@include extend
--@include told

-- Extends the lease of the permits at a place, whose record is given, and returns their token, lost and numbers; nil if it
-- has none. A lease only grows: a late request must not shorten a lease that a later request has extended. The first write
-- needs no memory, so that a full server does not refuse it.
local function prolong(place, text, lease)
    local token, deadline, lost, numbers = read(text)
    if token then
        extend(pool, memory(lease))
        extend(fence, memory(lease))
        deadline = math.max(deadline, now + tonumber(lease) * 1000)
        redis.call('hset', pool, place, record(token, deadline, lost, numbers))
    end
    return token, lost, numbers
end

local function last_token()
    return tonumber(redis.call('get', fence) or '0')
end

-- Takes a place at the tail, or renews the existing place without changing its order.
local function line_up(place, wanted, claim)
    local score = redis.call('zscore', queue, place)
    if not score then
        redis.call('zadd', queue, string.format('%.0f', (tail())), place)
    end
    redis.call('hset', waiters, place, waiter(claim, wanted))
    redis.call('pexpire', queue, LINE)
    redis.call('pexpire', waiters, LINE)
end

-- Returns all fields of the pool.
local function fields()
    local all, flat = {}, redis.call('hgetall', pool)
    for i = 1, #flat, 2 do
        all[flat[i]] = flat[i + 1]
    end
    return all
end

-- How many numbers there are: the size, or more as long as permits above a smaller size are out.
local function reach(all, size)
    return math.max(size, tonumber(all.reach or '0'))
end

-- Returns the deadline of the permit with a number, given as text; nil or false if it is free. A place may have got other
-- numbers since its claim on this one ended.
local function ends_at(all, number)
    local _, deadline, _, numbers = read(all[number] and all[all[number]])
    return deadline and string.find(' ' .. numbers .. ' ', ' ' .. number .. ' ', 1, true) and deadline
end

-- Looks at all numbers. Returns the free ones below the size, in order, but no more than keep all permits together within
-- the size; a table with those whose last permits were lost; and after how many ms the first of the other permits ends, -1
-- if there is none.
local function survey(all, size)
    local free, was_lost, taken, ends, above = {}, {}, 0, -1, false
    for number = 0, reach(all, size) - 1 do
        local text = tostring(number)
        local deadline = ends_at(all, text)
        if deadline then
            local left = math.ceil((deadline - now) / 1000)
            ends = ends < 0 and left or math.min(ends, left)
            taken = taken + 1
            above = above or number >= size
        elseif number < size then
            free[#free + 1] = text
            was_lost[text] = all[text]
        end
    end
    if all.reach and not above then
        redis.call('hdel', pool, 'reach')
    end
    for i = #free, math.max(size - taken, 0) + 1, -1 do
        free[i] = nil
    end
    return free, was_lost, ends
end

-- Returns the first of the free numbers as text, and for each of them 1 if its last permits were lost, else 0; zeros at
-- the end are left out.
local function choose(free, was_lost, wanted)
    local numbers, lost = {}, {}
    for i = 1, wanted do
        numbers[i], lost[i] = free[i], was_lost[free[i]] and '1' or '0'
    end
    return table.concat(numbers, ' '), string.match(table.concat(lost), '^.*1') or '0'
end

-- Whether the last permits of at least one number were lost (1 | 0).
local function any(lost)
    return string.find(lost, '1', 1, true) and 1 or 0
end

-- Writes the permits of a place, in Redis and in the fields of the pool.
local function own(all, place, numbers, lost, lease, token)
    local text = string.format('%.0f', token)
    all[place] = record(text, now + tonumber(lease) * 1000, lost, numbers)
    local written = {place, all[place]}
    for number in string.gmatch(numbers, '%d+') do
        local before = all[number]
        if before and not read(all[before]) then
            -- The lease of these permits has ended, so their record is of no more use.
            redis.call('hdel', pool, before)
        end
        all[number] = place
        written[#written + 1] = number
        written[#written + 1] = place
    end
    redis.call('hset', pool, unpack(written))
    extend(pool, memory(lease))
    redis.call('set', fence, text, 'keepttl')
    extend(fence, memory(lease))
end

-- Publishes a grant; returns whether the message reached the client of the place, or may have.
local function notify(place, token, lost, numbers)
    local client, attempt = string.match(place, '^(.*):[^:]*:(%d+)$')
    return told(client, attempt, string.format(' %.0f %d ', token, any(lost)) .. numbers)
end

-- Gives permits, for a claim, to the first places as long as enough numbers are free; nobody is served before a place that
-- waits for more. A place whose client cannot be notified is passed over: the client may be dead, and asks if it lives.
-- The place of the asker needs no message, since its client reads the reply, and gets the full lease.
-- Returns the token, lost and numbers of the asker, or nil; then after how many ms the first of the permits ends.
local function serve(all, size, asker, lease)
    local free, was_lost, ends = survey(all, size)
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
                    own(all, place, chosen, mark, place == asker and lease or claim, next_token)
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

local function serve_all()
    local all = fields()
    serve(all, tonumber(all.size or '0'))
end

-- How many numbers a text names.
local function count(numbers)
    local _, spaces = string.gsub(numbers, ' ', '')
    return spaces + 1
end

-- The reply to an attempt that has permits.
local function granted(token, lost, numbers)
    local reply = {'OK', tonumber(token), any(lost), now}
    for number in string.gmatch(numbers, '%d+') do
        reply[#reply + 1] = tonumber(number)
    end
    return reply
end
