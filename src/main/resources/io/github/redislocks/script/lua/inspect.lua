-- Reports the holder of the lock, the waiters in its queue, and the waiters in its Conditions; changes nothing.
-- KEYS     lock, queue, conditions
-- ARGV     the most waiters of each kind to report
-- returns  HELD | KEPT after a release | SHARED by clients that read | FREE, then owner, holds (of readers: shares), token,
--          pttl ('' and zeros if free), queue length, how many places follow, owner age(µs) for each place, then
--          Condition's id, owner, age(µs) for each waiter in a Condition
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
--@include count_shares

local held = redis.call('hmget', KEYS[1], 'owner', 'holds', 'token', 'kept')
local reply
if held[1] then
    local holds, token = tonumber(held[2]) or 0, tonumber(held[3]) or 0
    local code = held[4] and 'KEPT' or 'HELD'
    if held[1] == 'readers' then
        code = 'SHARED'
        holds = shares(KEYS[1])
    end
    reply = {code, held[1], holds, token, redis.call('pttl', KEYS[1])}
else
    reply = {'FREE', '', 0, 0, 0}
end
reply[6] = redis.call('zcard', KEYS[2])
local places = redis.call('zrange', KEYS[2], 0, ARGV[1] - 1, 'withscores')
reply[7] = #places / 2
for i = 1, #places, 2 do
    reply[#reply + 1] = string.match(places[i], '^(.*):%d+$') or places[i]
    reply[#reply + 1] = math.max(0, now - tonumber(places[i + 1]))
end
for _, member in ipairs(redis.call('zrange', KEYS[3], 0, ARGV[1] - 1)) do
    local id, order, owner = string.match(member, '^(%S+) (%d+) (%S+):%d+$')
    reply[#reply + 1] = id or '?'
    reply[#reply + 1] = owner or member
    reply[#reply + 1] = math.max(0, now - tonumber(order or 0))
end
return reply
