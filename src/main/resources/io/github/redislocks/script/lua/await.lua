-- Ends a hold, takes a place in a Condition, and hands the lock on as release does.
-- KEYS     lock, queue, waiters, fence, conditions, shares
-- ARGV     owner, attempt of the hold, attempt that waits, notAfter(µs), Condition's id, holds to get back, claim(ms), then
--          for the successor: owner or '', attempt, lease(ms), claim(ms) or '', keep (1|0); then, for a residence, its
--          owner and the last token that its client gave out
-- returns  as release: FREED crowded(1|0) | GRANTED | SUCCEEDED token lost | QUEUED last-token pttl now | WAITING: an earlier copy ran | GONE | LATE now
local owner, waiting, id = ARGV[1], ARGV[3], ARGV[5]
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[4]) then
    return {'LATE', now}
end

--@include hold
--@include line
--@include shares
--@include succession

local place = owner .. ':' .. waiting
local held = redis.call('hmget', lock, 'owner', 'attempt', 'token')
local successor = ARGV[8]
if held[1] == (ARGV[13] or owner) and held[2] == ARGV[2] then
    -- The order is the time; if the last order in this Condition is not smaller, the last order + 1.
    local order = string.format('%016.0f', now)
    local last = redis.call('zrangebylex', conditions, '[' .. id .. ' ' .. order, '(' .. id .. '!')
    if #last > 0 then
        order = string.format('%016.0f', tonumber(string.match(last[#last], ' (%d+) ')) + 1)
    end
    redis.call('zadd', conditions, 0, id .. ' ' .. order .. ' ' .. place)
    redis.call('pexpire', conditions, LINE)
    note(place, tonumber(ARGV[6]), tonumber(ARGV[7]), ' ' .. id .. ' ' .. order)
    return pass_on((ARGV[14] or held[3]) .. '+', successor, ARGV[9], ARGV[10], ARGV[11], ARGV[12])
end
-- An earlier copy of this request ran, and its reply was lost.
if look(place) or (held[1] == owner and held[2] == waiting) then
    return successor ~= '' and done_before(successor, ARGV[9], ARGV[10]) or {'WAITING'}
end
return {'GONE'}
