-- Extends the leases of many holds, each as renew does; never makes a hold. A key of another type, made by another
-- program, is no hold and affects no other hold.
-- KEYS     locks
-- ARGV     lease(ms), then for each lock: owner, attempt; and 'watched' if the locks have to be read at the end
-- returns  1, if all exist and have no waiters | GONE, then the index of each missing hold, counted from 0, and the number of
--          holds plus the index of each hold with waiters
--@include extend
--@include forget

local call, lease = redis.call, ARGV[1]
local watched = ARGV[2 * #KEYS + 2]
local gone, missing = {'GONE'}, {}
for i, lock in ipairs(KEYS) do
    local held = redis.pcall('hmget', lock, 'owner', 'attempt', 'waited')
    if held.err and not string.find(held.err, 'WRONGTYPE', 1, true) then
        return held
    end
    if held[1] == ARGV[2 * i] and held[2] == ARGV[2 * i + 1] then
        extend(lock, lease)
        if held[3] then
            gone[#gone + 1] = #KEYS + i - 1
        end
    else
        if watched and call('exists', lock) == 0 then
            missing[#missing + 1] = lock
        end
        gone[#gone + 1] = i - 1
    end
end
if watched then
    -- Read after the last write: see renew.lua.
    call('exists', unpack(KEYS))
    for _, lock in ipairs(missing) do
        forget(lock)
    end
end
return #gone == 1 and 1 or gone
