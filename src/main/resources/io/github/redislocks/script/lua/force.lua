-- Ends a hold of any owner, and hands the lock on. The next holder learns of the loss.
-- KEYS     lock, queue, waiters, fence, conditions
-- ARGV     token of the hold, so that a second run does not end the hold of the next
-- returns  FREED crowded(1|0) | GRANTED | GONE
local token = redis.call('hget', KEYS[1], 'token')
if token ~= ARGV[1] then
    return {'GONE'}
end
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include hold
--@include line
--@include succession

return pass_on(token, '', '', '', '', '0')
