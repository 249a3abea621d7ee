-- Reports which locks of the next part of a scan of this server are held, kept or waited for; changes nothing. A lock is
-- reported by its hash, else by its queue, else by its Conditions, so that it is reported once.
-- KEYS     none
-- ARGV     cursor, pattern of the keys
-- returns  LISTED, then the next cursor, which is 0 at the end, then for each lock its key, owner, holds, token, pttl
--          ('' and zeros if free), 1 if it is kept by nobody, places in the queue, waiters in Conditions
local scanned = redis.call('scan', ARGV[1], 'match', ARGV[2], 'count', 25)
local reply = {'LISTED', scanned[1]}

local function report(lock)
    local held = redis.call('hmget', lock, 'owner', 'holds', 'token', 'kept')
    reply[#reply + 1] = lock
    reply[#reply + 1] = held[1] or ''
    reply[#reply + 1] = tonumber(held[2] or 0)
    reply[#reply + 1] = tonumber(held[3] or 0)
    reply[#reply + 1] = held[1] and redis.call('pttl', lock) or 0
    reply[#reply + 1] = held[4] and 1 or 0
    reply[#reply + 1] = redis.call('zcard', lock .. ':queue')
    reply[#reply + 1] = redis.call('zcard', lock .. ':conditions')
end

for _, key in ipairs(scanned[2]) do
    local lock, rest = string.match(key, '^(.*})(.*)$')
    local queued = rest == ':queue' and redis.call('exists', lock) == 0
    local waited = rest == ':conditions' and redis.call('exists', lock, lock .. ':queue') == 0
    if rest == '' or queued or waited then
        report(lock)
    end
end
return reply
