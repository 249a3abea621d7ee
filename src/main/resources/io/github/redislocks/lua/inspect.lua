-- Shows who holds the lock and who waits for it.
-- KEYS     lock, queue
-- ARGV     how many waiters to show at most
-- returns  HELD | FREE, then owner holds token pttl ('' and zeros if free), queue length, and owner age(µs) per waiter
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
local held = redis.call('hmget', KEYS[1], 'owner', 'holds', 'token')
local reply
if held[1] then
    reply = {'HELD', held[1], tonumber(held[2]), tonumber(held[3]), redis.call('pttl', KEYS[1])}
else
    reply = {'FREE', '', 0, 0, 0}
end
reply[6] = redis.call('zcard', KEYS[2])
local places = redis.call('zrange', KEYS[2], 0, ARGV[1] - 1, 'withscores')
for i = 1, #places, 2 do
    reply[#reply + 1] = places[i]
    reply[#reply + 1] = math.max(0, now - tonumber(places[i + 1]))
end
return reply
