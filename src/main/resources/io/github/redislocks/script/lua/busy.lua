-- Included by the scripts that try a lock: the reply to an attempt that does not wait. Needs hold.lua.

-- The lock is busy. If clients keep the lock, a try asks each of them whether a thread holds it.
local function busy(held, pttl, try)
    local asked = try and recall(held[1], held[2], try) or 0
    if held[1] == READERS then
        return {'RESIDENT', pttl, now, asked}
    end
    if string.find(held[1], ':r%d+$') then
        return {'RESIDENT', pttl, now}
    end
    return {'BUSY', pttl, now}
end
