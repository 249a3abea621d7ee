-- Reports, when a client connects, what kind of server this is and whether the user may run the commands of the
-- scripts. The script deletes its keys, which belong to a lock that no user can name.
-- KEYS     lock, queue, waiters, fence, conditions
-- ARGV     mailbox
-- returns  CHECKED version role master policy command refusal run-id cluster offset started(µs) now(µs): texts are '' if the server
--          does not report them; command and refusal: the first command that was refused, with PUBLISH tried last;
--          cluster is '1' if the server enforces the slots of a cluster; offset: the offset of its promotion, -1 if it
--          was not promoted since it started
local lock, queue, fence = KEYS[1], KEYS[2], KEYS[4]
local time = redis.pcall('time')
local now = time.err and 0 or time[1] * 1000000 + time[2]

local info = redis.pcall('info')
info = type(info) == 'string' and info or ''
local function reported(field)
    return string.match(info, field .. ':([^\r\n]*)') or ''
end
local master = reported('master_host') ~= '' and reported('master_host') .. ':' .. reported('master_port') or ''

local uptime = tonumber(reported('uptime_in_seconds'))
local version = reported('redis_version')
if reported('valkey_version') ~= '' then
    version = version .. ' (Valkey ' .. reported('valkey_version') .. ')'
end

local tries = {
    -- This write comes first: at maxmemory Redis refuses the other commands only until a script has written something.
    {'del', lock},
    {'exists', lock},
    {'hset', lock, 'holds', 1},
    {'hsetnx', lock, 'holds', 1},
    {'hincrby', lock, 'holds', 1},
    {'hget', lock, 'holds'},
    {'hmget', lock, 'holds'},
    {'pexpire', lock, 1000},
    {'pttl', lock},
    {'hdel', lock, 'holds'},
    {'set', fence, 0, 'px', 1000},
    {'get', fence},
    {'append', fence, '+'},
    {'zadd', queue, 0, 'place'},
    {'zscore', queue, 'place'},
    {'zrange', queue, 0, 0},
    {'zrangebylex', queue, '-', '+'},
    {'zcard', queue},
    {'zrem', queue, 'place'},
    {'zpopmin', queue},
    {'publish', ARGV[1], ''},
}
local command, refusal = time.err and 'time' or '', time.err or ''
for _, try in ipairs(tries) do
    local answer = redis.pcall(unpack(try))
    if type(answer) == 'table' and answer.err and refusal == '' then
        command, refusal = try[1], answer.err
    end
end
redis.pcall('del', unpack(KEYS))
return {
    'CHECKED', version, reported('role'), master, reported('maxmemory_policy'), command, refusal, reported('run_id'),
    reported('cluster_enabled'), reported('second_repl_offset'), uptime and now - uptime * 1000000 or '', now,
}
