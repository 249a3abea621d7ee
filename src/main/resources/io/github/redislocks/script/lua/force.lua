-- Ends a hold without its owner, and hands the lock on. The next holder is notified of the loss, and so is the client of
-- the ended hold, if it listens: by a message with the token 0, which means to ask, followed by the token of the hold.
-- A lock that is kept after its release has no owner, so its end is no loss.
-- KEYS     lock, queue, waiters, fence, conditions
-- ARGV     token of the hold, so that a second run does not end the next hold
-- returns  FREED crowded(1|0) | GRANTED | GONE
local held = redis.call('hmget', KEYS[1], 'token', 'owner', 'attempt')
local token = held[1]
if token ~= ARGV[1] then
    return {'GONE'}
end
local client = string.match(held[2] or '', '^(.*):[^:]*$')
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include hold
--@include line
--@include succession

local reply = pass_on(held[2] == NOBODY and token .. '+' or token, '', '', '', '', '0')
if client and held[3] then
    publish(string.match(KEYS[1], '^[^{]*') .. 'mailbox:' .. client, held[3] .. ' 0 ' .. token)
end
return reply
