-- Turns the hold of a writer into a share of its client, and lets in all shares that wait.
-- KEYS     lock, queue, waiters, fence, conditions, shares
-- ARGV     owner, attempt of the hold, client, attempt and lease(ms) of the share; then, for a residence, the last token
--          that its client gave out
-- returns  OK version 0 now recalled(1: a writer is in line | 0) | GONE
local client, attempt, lease = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include hold
--@include line
--@include shares

local mine = 's:' .. client
local held = redis.call('hmget', lock, 'owner', 'attempt', 'token', mine)
if held[1] == ARGV[1] and held[2] == ARGV[2] then
    local version = ARGV[6] or held[3]
    redis.call('del', lock)
    redis.call('hdel', shares, client)
    writer_waits()
    join(client, attempt, lease, version)
    let_in(version, 0)
elseif lasting(held[4]) ~= attempt then
    return {'GONE'}
end
held = redis.call('hmget', lock, 'token', 'waited')
return {'OK', tonumber(held[1]), 0, now, held[2] and 1 or 0}
