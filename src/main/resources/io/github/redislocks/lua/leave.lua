-- Takes an owner's attempt out of the line and of the lock: its place goes to the heir, a thread of the same client; a
-- grant that it was given meanwhile goes on.
-- KEYS     lock, queue, waiters, fence, conditions
-- ARGV     owner, attempt, returned (1: its hold was once returned to its caller, so it ends without good order | 0),
--          then of the heir: owner or '', attempt, lease(ms), claim(ms) or '' for no place
-- returns  SUCCEEDED token lost | QUEUED last-token pttl now (both: the heir) | DONE
local owner, attempt, heir, claim = ARGV[1], tonumber(ARGV[2]), ARGV[4], ARGV[7]
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include hold
--@include line
--@include succession

local held = redis.call('hmget', lock, 'owner', 'attempt', 'token', 'lost')
local placed = place(owner)
local score
if placed and placed <= attempt then
    score = redis.call('zscore', queue, owner)
    drop(owner)
end
if score and heir ~= '' and claim ~= '' and not place(heir) then
    put(heir, tonumber(score), tonumber(ARGV[5]), 1, tonumber(claim), '')
end
if held[1] == owner and tonumber(held[2]) == attempt then
    -- A loss before it is still to be told if this hold was not returned to anybody.
    local good = ARGV[3] == '0' and not held[4]
    local reply = pass_on(held[3] .. (good and '+' or ''), heir, ARGV[5], ARGV[6], claim, '0')
    if reply[1] == 'SUCCEEDED' or reply[1] == 'QUEUED' then
        return reply
    end
elseif heir ~= '' then
    if held[1] == heir and held[2] == ARGV[5] then
        extend(lock, ARGV[6])
        return {'SUCCEEDED', tonumber(held[3]), held[4] and 1 or 0}
    end
    if place(heir) == tonumber(ARGV[5]) then
        return {'QUEUED', last_token(), redis.call('pttl', lock), now}
    end
end
return {'DONE'}
