-- Extends the leases of many holds, each as renew does; never makes a hold.
-- KEYS     locks
-- ARGV     lease(ms), then for each lock: owner, attempt
-- returns  the number of holds, if all are there | GONE, then the index of each that is not, counted from 0
--@include extend

local call, lease = redis.call, ARGV[1]
local gone = {'GONE'}
for i, lock in ipairs(KEYS) do
    local held = call('hmget', lock, 'owner', 'attempt')
    if held[1] == ARGV[2 * i] and held[2] == ARGV[2 * i + 1] then
        extend(lock, lease)
    else
        gone[#gone + 1] = i - 1
    end
end
return #gone == 1 and #KEYS or gone
