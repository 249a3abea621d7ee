-- Ends a hold without its owner, and hands the lock on. The next holder is notified of the loss, and so is the client of
-- the ended hold, if it listens: by a message with the token 0, which means to ask, followed by the token of the hold.
-- A lock that is kept after its release has no owner, so its end is no loss.
-- KEYS     lock, queue, waiters, fence, conditions, shares
-- ARGV     token and attempt of the hold, so that a second run does not end the next hold; of readers, the version and the
--          number of their phase
-- returns  FREED crowded(1|0) | GRANTED | GONE
local held = redis.call('hmget', KEYS[1], 'token', 'owner', 'attempt', 'lost')
local token = held[1]
if token ~= ARGV[1] then
    return {'GONE'}
end
local client = string.match(held[2] or '', '^(.*):[^:]*$')
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include hold
--@include line
--@include shares
--@include succession

if held[2] == READERS then
    if held[3] ~= ARGV[2] then
        return {'GONE'}
    end
    tell(READERS, nil, ' 0 ' .. token)
    redis.call('del', lock)
    return writers_turn(token, held[4] and 1 or 0)
end
local reply = pass_on(held[2] == NOBODY and token .. '+' or token, '', '', '', '', '0')
if client and held[3] then
    publish(string.match(KEYS[1], '^[^{]*') .. 'mailbox:' .. client, held[3] .. ' 0 ' .. token)
end
return reply
