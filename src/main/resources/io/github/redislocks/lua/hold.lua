-- Included by the scripts that make a hold. Needs the local now(µs).
local MEMORY = '100000000'

-- Whether the hold of the last token was released: by the mark behind it in the fence.
local function released(last)
    local mark = string.sub(last, -1)
    return mark == '+' or mark == '-'
end

-- The token after the one in the fence, and 1 if the hold of that one was never released.
local function mint(last)
    if not last then
        return now, 0
    end
    local number = tonumber(string.match(last, '^%d+'))
    return number < now and now or number + 1, released(last) and 0 or 1
end

-- Writes a hold of a lock that nobody holds. Numbers as text: Redis would spend more on each than on its command.
local function hold(lock, fence, owner, attempt, holds, lease, token)
    local text = string.format('%.0f', token)
    redis.call('hset', lock, 'owner', owner, 'attempt', attempt, 'holds', holds, 'token', text)
    redis.call('pexpire', lock, lease)
    redis.call('set', fence, text, 'px', MEMORY)
end
