-- Included by the scripts that try a lock: the reply to who does not wait. Needs hold.lua.

-- The lock is busy. Of a residence a try has the client asked whether a thread holds the lock.
local function busy(held, pttl, try)
    if try and recall(held[1], held[2], try) or string.find(held[1], ':r%d+$') then
        return {'RESIDENT', pttl, now}
    end
    return {'BUSY', pttl, now}
end
