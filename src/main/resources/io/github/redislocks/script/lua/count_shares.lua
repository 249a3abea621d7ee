-- Included by the scripts that report locks. Needs the local now(µs).

-- The number of shares of a lock under which clients may read.
local function shares(lock)
    local count = 0
    for _, text in ipairs(redis.call('hgetall', lock)) do
        local deadline = string.match(text, '^%d+ (%d+)$')
        count = count + (deadline and tonumber(deadline) >= now and 1 or 0)
    end
    return count
end
