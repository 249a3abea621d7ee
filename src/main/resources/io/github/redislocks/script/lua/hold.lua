-- Included by the scripts that make holds and places. Needs KEYS lock, queue, waiters, fence and the local now(µs).
local MEMORY = '100000000'

-- How long a token is to be remembered: more than a day longer than a hold with this lease may last.
local function memory(lease)
    return tonumber(lease) < 10000000 and MEMORY or string.format('%.0f', MEMORY + lease)
end

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
    redis.call('set', fence, text, 'px', memory(lease))
end

-- How long a line lasts in which nobody moves. Whoever gives the lock to the next lets it last anew, at the latest when
-- 10 s more have begun, so that there is always more left than any place may live.
local LINE = 30000

-- Publishes a message to those whom this server counts: a replica does not pass it on. A client may listen at one, since
-- that was the master when it subscribed; it would take itself for the owner, beside the one that was reached instead.
local function tell(mailbox, message)
    redis.set_repl(redis.REPL_NONE)
    local reached = redis.pcall('publish', mailbox, message)
    redis.set_repl(redis.REPL_ALL)
    return reached
end

-- The text of a place, as line.lua has it, that wants one hold and waits in no Condition.
local function plain(claim)
    return string.format('%.0f ', now + claim * 1000) .. claim .. ' 1'
end

-- The score of a place behind all others, whatever the clock has done; and whether there are others.
local function tail()
    local last = redis.call('zrange', KEYS[2], -1, -1, 'withscores')
    local score = last[2] and tonumber(last[2]) + 1 or 0
    return score < now and now or score, #last > 0
end
