-- Removes an attempt from the queue, and hands the lock on if it was granted to the attempt meanwhile. The successor, a
-- thread of the same client, takes the attempt's place.
-- KEYS     lock, queue, waiters, fence, conditions, shares
-- ARGV     owner, attempt, returned (1: lock() had returned its hold, so the end is a loss | 0),
--          notAfter(µs): until when an unanswered request of the attempt may still run, or 0, then for the successor:
--          owner or '', attempt, lease(ms), claim(ms) or '' for no place; then, for a residence, the last token that its
--          client gave out
-- returns  SUCCEEDED token lost wait | QUEUED last-token pttl now wait (both: the successor) | DONE wait
--          wait(ms): for how long such a request may still run, after which another leave is needed; 0 if no request
--          can run
local owner, attempt, successor, claim = ARGV[1], ARGV[2], ARGV[5], ARGV[8]
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include hold
--@include line
--@include shares
--@include succession

local place = owner .. ':' .. attempt
local held = redis.call('hmget', lock, 'owner', 'attempt', 'token', 'lost', 'signal')
local score = redis.call('zscore', queue, place)
drop(place)
if score and successor ~= '' and claim ~= '' and not look(successor .. ':' .. ARGV[6]) then
    put(successor .. ':' .. ARGV[6], tonumber(score), 1, tonumber(claim), '')
end
if score then
    unlined(held)
end
local reply
if held[1] == owner and held[2] == attempt then
    local last = abandon(held[3], ARGV[3] == '1', held[4], held[5], ARGV[9])
    reply = pass_on(last, successor, ARGV[6], ARGV[7], claim, '0')
elseif successor ~= '' then
    reply = done_before(successor, ARGV[6], ARGV[7])
end
if not reply or (reply[1] ~= 'SUCCEEDED' and reply[1] ~= 'QUEUED') then
    reply = {'DONE'}
end
local left = tonumber(ARGV[4]) - now
reply[#reply + 1] = left < 0 and 0 or math.floor(left / 1000) + 1
return reply
