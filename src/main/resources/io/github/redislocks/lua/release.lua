-- Ends a hold, whatever its count (a late copy of a re-entry may have counted twice), and hands the lock on.
-- KEYS     lock, queue, waiters, fence, conditions
-- ARGV     owner, attempt, then if there is a successor: owner, attempt, lease(ms), claim(ms) or '', keep (1|0)
-- returns  FREED crowded(1|0) | GRANTED | SUCCEEDED token lost | QUEUED last-token pttl now | GONE
local held = redis.call('hmget', KEYS[1], 'owner', 'attempt', 'token', 'waited', 'lost')
local mine = held[1] == ARGV[1] and held[2] == ARGV[2]
local successor = ARGV[3]

-- Nobody waits.
if mine and not successor and not held[4] then
    redis.call('del', KEYS[1])
    if redis.call('append', KEYS[4], '+') == 1 then
        redis.call('set', KEYS[4], held[3] .. '+', 'px', 100000000)
    end
    return {'FREED', 0}
end

local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include hold

-- Nobody waits but the successor, a thread of the same client.
if mine and not held[4] then
    redis.call('del', KEYS[1])
    local token = mint(held[3] .. '+')
    hold(KEYS[1], KEYS[4], successor, ARGV[4], 1, ARGV[5], token)
    return {'SUCCEEDED', token, 0}
end

--@include line
--@include succession

if mine then
    return pass_on(held[3] .. '+', successor or '', ARGV[4], ARGV[5], ARGV[6], ARGV[7])
end
-- An earlier copy may have run unanswered: what it did for the successor is told again, and refreshed.
if successor then
    if held[1] == successor and held[2] == ARGV[4] then
        extend(ARGV[5])
        return {'SUCCEEDED', tonumber(held[3]), held[5] and 1 or 0}
    end
    if place(successor) == tonumber(ARGV[4]) then
        return {'QUEUED', last_token(), redis.call('pttl', lock), now}
    end
end
return {'GONE'}
