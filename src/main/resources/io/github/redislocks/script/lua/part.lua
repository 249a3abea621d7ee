-- Included by the scripts that end a share.

-- Removes the share of a client from a read phase. Returns whether other shares last; the hash then lasts as long as they,
-- else it ends.
local function part(leaver)
    local latest = 0
    local fields = redis.call('hgetall', KEYS[1])
    for i = 1, #fields, 2 do
        local client = string.match(fields[i], '^s:(.*)$')
        local _, deadline = lasting(fields[i + 1])
        if client == leaver or (client and not deadline) then
            redis.call('hdel', KEYS[1], fields[i])
        elseif deadline then
            latest = math.max(latest, deadline)
        end
    end
    if latest > 0 then
        redis.call('pexpire', KEYS[1], math.ceil((latest - now) / 1000))
        return true
    end
    redis.call('del', KEYS[1])
    return false
end
