-- Included by the scripts that try a lock: the reply to an attempt that does not wait. Needs hold.lua.

-- The lock is busy. If a client keeps the lock, a try asks that client whether a thread holds it.
local function busy(held, pttl, try)
    if try and recall(held[1], held[2], try) or string.find(held[1], ':r%d+$') then
        return {'RESIDENT', pttl, now}
    end
    return {'BUSY', pttl, now}
end
