-- Ends the share or the place of one attempt of a client, and lets go in who is next.
-- KEYS     lock, queue, waiters, fence, conditions, shares
-- ARGV     client, attempt, notAfter(µs): until when an unanswered request of the attempt may still run, or 0
-- returns  DONE wait | GONE wait: there was neither share nor place
--          wait(ms): for how long such a request may still run, after which another unshare is needed; 0 if no request
--          can run
local client, attempt = ARGV[1], tonumber(ARGV[2])
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include hold
--@include line
--@include shares
--@include part

local held = redis.call('hmget', lock, 'token', 'lost', 's:' .. client)
local has = lasting(held[3]) == attempt
local placed = lasting(redis.call('hget', shares, client)) == attempt
if placed then
    redis.call('hdel', shares, client)
end
if has then
    local version, lost = held[1], held[2] and 1 or 0
    if not part(client) then
        writers_turn(version, lost)
    elseif not writer_waits() then
        redis.call('hdel', lock, 'waited')
        let_in(version, lost)
    end
end
local left = tonumber(ARGV[3]) - now
return {(has or placed) and 'DONE' or 'GONE', left < 0 and 0 or math.floor(left / 1000) + 1}
