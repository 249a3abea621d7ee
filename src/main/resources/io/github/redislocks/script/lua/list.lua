-- Reports the locks of the next part of a scan of this server that are held, kept or have waiters; changes nothing. A
-- lock is reported by its hash, else by its queue, else by its Conditions, so that it is reported once. A pool of permits is
-- reported by its hash, with its key and without an owner. Keys of another
-- program, and locks whose slot is moving to another node, are left out.
-- KEYS     none
-- ARGV     cursor, pattern of the keys
-- returns  LISTED, then the next cursor, which is 0 at the end, the server's run id ('' if not reported), then for each
--          lock its key, owner, holds (of readers: shares), token, pttl ('' and zeros if free), 1 if it is kept after a release, places in the queue,
--          waiters in Conditions
local scanned = redis.call('scan', ARGV[1], 'match', ARGV[2], 'count', 25)
local server = redis.pcall('info', 'server')
local id = type(server) == 'string' and string.match(server, 'run_id:(%w+)') or ''
local reply = {'LISTED', scanned[1], id}

local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include count_shares

local function report(lock)
    local held = redis.call('hmget', lock, 'owner', 'holds', 'token', 'kept')
    local holds = tonumber(held[2] or 0)
    if held[1] == 'readers' then
        holds = shares(lock)
    end
    local token = tonumber(held[3] or 0)
    local lasts = held[1] and redis.call('pttl', lock) or 0
    local queue = redis.call('zcard', lock .. ':queue')
    local conditions = redis.call('zcard', lock .. ':conditions')
    if holds and token then
        for _, value in ipairs({lock, held[1] or '', holds, token, lasts, held[4] and 1 or 0, queue, conditions}) do
            reply[#reply + 1] = value
        end
    end
end

local function look(key)
    local lock, rest = string.match(key, '^(.*})(.*)$')
    local queued = rest == ':queue' and redis.call('exists', lock) == 0
    local waited = rest == ':conditions' and redis.call('exists', lock, lock .. ':queue') == 0
    if rest == '' or rest == ':permits' then
        report(key)
    elseif queued or waited then
        report(lock)
    end
end

for _, key in ipairs(scanned[2]) do
    local read, failure = pcall(look, key)
    if not read then
        local why = type(failure) == 'table' and failure.err or tostring(failure)
        if not (string.find(why, 'WRONGTYPE', 1, true) or string.find(why, 'non local key', 1, true)) then
            error(failure)
        end
    end
end
return reply
