-- Ends the share or the place of one attempt of a client, and lets go in who is next. The client's next share takes its
-- place before, if it is named.
-- KEYS     lock, queue, waiters, fence, conditions, shares
-- ARGV     client, attempt, notAfter(µs): until when an unanswered request of the attempt may still run, or 0; then for the
--          next share: attempt or '', lease(ms), claim(ms), echo
-- returns  DONE wait | GONE wait: there was neither share nor place, so the next share has no place either | OK version lost
--          now recalled wait: the next share went in | QUEUED version pttl now wait: the next share has a place
--          wait(ms): for how long such a request may still run, after which another unshare is needed; 0 if no request
--          can run
local client, attempt = ARGV[1], tonumber(ARGV[2])
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include hold
--@include line
--@include shares
--@include part

local mine, follower = 's:' .. client, tonumber(ARGV[4])
local held = redis.call('hmget', lock, 'owner', 'token', 'lost', mine)
local has = held[1] == READERS and lasting(held[4]) == attempt
local placed = lasting(redis.call('hget', shares, client)) == attempt
if placed then
    redis.call('hdel', shares, client)
end
local others = has and part(client)
if follower and (has or placed) then
    stand(client, follower, tonumber(ARGV[6]), ARGV[7])
end
if has then
    local version, lost = held[2], held[3] and 1 or 0
    if not others then
        writers_turn(version, lost, client, ARGV[5])
    elseif not writer_waits() then
        redis.call('hdel', lock, 'waited')
        let_in(version, lost, client, ARGV[5])
    end
end

-- An earlier copy of this request may have served the next share.
local reply = {(has or placed) and 'DONE' or 'GONE'}
if follower then
    held = redis.call('hmget', lock, 'owner', 'token', 'lost', mine, 'waited')
    if lasting(held[4]) == follower then
        reply = {'OK', tonumber(held[2]), held[3] and 1 or 0, now, held[5] and 1 or 0}
    elseif lasting(redis.call('hget', shares, client)) == follower then
        reply = {'QUEUED', last_token(), redis.call('pttl', lock), now}
    end
end
local left = tonumber(ARGV[3]) - now
reply[#reply + 1] = left < 0 and 0 or math.floor(left / 1000) + 1
return reply
