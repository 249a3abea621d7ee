-- Takes permits for an attempt; if too few are free or others wait, takes or renews the attempt's place in the queue, or
-- replies BUSY. Also the heartbeat of a place, with the claim as lease.
-- KEYS     pool, queue, waiters, fence
-- ARGV     owner, attempt, lease(ms), notAfter(µs), claim(ms), or '' for no place, wanted, size, check (1: the size has to
--          be the present one | 0: the size is for a pool that Redis does not know)
-- returns  OK token lost now number... | BUSY ends now | QUEUED last-token ends now | LATE now | SIZE size: the attempt
--          wants more than there are, or named another size
--          lost: 1 if the previous permits of at least one of the numbers were not released
--          ends(ms): until the first permit of another owner ends if it is not renewed, or -1
local place, lease, claim = ARGV[1] .. ':' .. ARGV[2], ARGV[3], tonumber(ARGV[5])
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[4]) then
    return {'LATE', now}
end

--@include permits_record
--@include hold

-- The usual cases, kept short: nobody waits and enough numbers are free, or others wait and no number is free. A number
-- whose last permits were lost, or have ended by their lease, is not free here.
local wanted, most = tonumber(ARGV[6]), math.min(tonumber(ARGV[7]), 64)
local names = {'size', 'reach', place}
for number = 0, most - 1 do
    names[#names + 1] = tostring(number)
end
local last, known = redis.call('get', fence), redis.call('hmget', pool, unpack(names))
if is_recent(last) and known[1] == ARGV[7] and not known[2] and not known[3] then
    local score, waited = tail()
    local free = {}
    for i = 4, #names do
        if not known[i] and #free < wanted then
            free[#free + 1] = names[i]
        end
    end
    if not waited and #free == wanted and #lease < 8 then
        -- The first grant of the second has extended pool and fence.
        local token = mint(last)
        local text = string.format('%.0f', token)
        local written = {place, record(text, now + lease * 1000, 0, table.concat(free, ' '))}
        local reply = {'OK', token, 0, now}
        for _, number in ipairs(free) do
            written[#written + 1], written[#written + 2] = number, place
            reply[#reply + 1] = tonumber(number)
        end
        redis.call('hset', pool, unpack(written))
        redis.call('set', fence, text, 'keepttl')
        return reply
    end
    if waited and claim and #free == 0 and wanted <= most and most == tonumber(ARGV[7]) then
        local text = waiter(claim, wanted)
        if redis.call('hsetnx', waiters, place, text) == 1 then
            redis.call('zadd', queue, string.format('%.0f', score), place)
            redis.call('pexpire', queue, LINE)
            redis.call('pexpire', waiters, LINE)
            return {'QUEUED', tonumber(last), -1, now}
        end
    end
end

--@include permits

local all = fields()
local token, lost, numbers = prolong(place, all[place], lease)
if token then
    return granted(token, lost, numbers)
end

local size = tonumber(all.size)
if not size then
    size = tonumber(ARGV[7])
    redis.call('hset', pool, 'size', ARGV[7])
    redis.call('pexpire', pool, memory(lease))
end
if wanted > size or (ARGV[8] == '1' and size ~= tonumber(ARGV[7])) then
    return {'SIZE', size}
end

local waited = redis.call('exists', queue) == 1
local ends
if waited then
    if claim then
        line_up(place, wanted, claim)
    end
    token, lost, numbers, ends = serve(all, size, place, lease)
end
if not waited or not claim and redis.call('exists', queue) == 0 then
    -- Nobody waits.
    local free, was_lost
    free, was_lost, ends = survey(all, size)
    if #free >= wanted then
        numbers, lost = choose(free, was_lost, wanted)
        token = mint(redis.call('get', fence))
        own(all, place, numbers, lost, lease, token)
    end
end
if token then
    return granted(token, lost, numbers)
end
if claim then
    if not waited then
        line_up(place, wanted, claim)
    end
    return {'QUEUED', last_token(), ends, now}
end
return {'BUSY', ends, now}
