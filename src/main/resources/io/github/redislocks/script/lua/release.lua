-- Ends a hold with any count (a late copy of a re-entry may have counted twice), and hands the lock on.
-- KEYS     lock, queue, waiters, fence, conditions, shares
-- ARGV     owner, attempt, then if there is a successor: owner, attempt, lease(ms), claim(ms) or '', keep (1|0); else
--          five times ''; then, for a residence, the last token that its client gave out
-- returns  FREED crowded(1|0) | GRANTED | SUCCEEDED token lost | QUEUED last-token pttl now | GONE
local call = redis.call
local held = call('hmget', KEYS[1], 'owner', 'attempt', 'token', 'waited', 'lost', 'signal')
local mine = held[1] == ARGV[1] and held[2] == ARGV[2]
local successor = ARGV[3] ~= '' and ARGV[3]
local place = successor and successor .. ':' .. ARGV[4]

if ARGV[8] then
    held[3] = ARGV[8]
end

-- There are no waiters.
if mine and not successor and not held[4] then
    call('del', KEYS[1])
    if ARGV[8] or call('append', KEYS[4], '+') == 1 then
        call('set', KEYS[4], held[3] .. '+', 'px', 100000000)
    end
    return {'FREED', 0}
end

local time = call('time')
local now = time[1] * 1000000 + time[2]

--@include hold

-- There are waiters but no shares, and no loss or signal concerns the next holder: the usual case under contention,
-- kept short. The script rewrites the hash for the next holder. It leaves every unusual case to pass_on, and has then
-- changed nothing, with one exception: the hash of waiters may have a place of the successor that the queue does not
-- have. pass_on can handle such a place.
if mine and not held[5] and not held[6] and held[4] ~= 'shares' then
    local token = math.max(now, held[3] + 1)
    local text = string.format('%.0f', token)
    local next, owner, attempt, lease, holds
    if successor and (ARGV[7] == '1' or not held[4]) then
        -- Nobody has a place, or the client's local turn is not over. The successor usually has no place.
        if not held[4] or not call('hget', KEYS[3], place) then
            next, owner, attempt, lease, holds = place, successor, ARGV[4], ARGV[5], 1
        end
    elseif ARGV[6] ~= '' then
        -- This write comes first: at maxmemory Redis refuses HSETNX and HSET only until a script has written something.
        local first = call('zpopmin', KEYS[2])
        local deadline
        deadline, lease, holds =
            string.match(first[1] and call('hget', KEYS[3], first[1]) or '', '^(%d+) (%d+) (%d+)$')
        local usual = deadline and tonumber(deadline) >= now
        if usual and successor then
            usual = call('hsetnx', KEYS[3], place, plain(ARGV[6])) == 1
        end
        if usual then
            local client, thread
            client, thread, attempt = string.match(first[1], '^(.*):([^:]*):(%d+)$')
            owner = client .. ':' .. thread
            local mailbox = string.match(KEYS[1], '^[^{]*') .. 'mailbox:' .. client
            local reached = publish(mailbox, attempt .. ' ' .. text .. ' 0')
            next = type(reached) == 'number' and reached > 0 and first[1]
        end
        if next then
            call('hdel', KEYS[3], next)
        elseif first[1] then
            call('zadd', KEYS[2], first[2], first[1])
            call('pexpire', KEYS[2], LINE)
        end
    end
    if next then
        call('pexpire', KEYS[1], lease)
        call('hset', KEYS[1], 'owner', owner, 'attempt', attempt, 'holds', holds, 'token', text)
        if not call('set', KEYS[4], text, 'xx', 'keepttl') then
            call('set', KEYS[4], text, 'px', memory(lease))
        elseif #lease > 7 then
            call('pexpire', KEYS[4], memory(lease))
        end
        if successor and next ~= place then
            local score, among = tail()
            call('zadd', KEYS[2], string.format('%.0f', score), place)
            if not among then
                call('pexpire', KEYS[2], LINE)
            end
        end
        if token > now or string.sub(text, 1, 9) ~= string.sub(held[3], 1, 9) then
            call('pexpire', KEYS[2], LINE)
            call('pexpire', KEYS[3], LINE)
            call('pexpire', KEYS[4], memory(lease))
        end
        if next == place then
            return {'SUCCEEDED', token, 0}
        end
        return successor and {'QUEUED', token, tonumber(lease), now} or {'GRANTED'}
    end
end

--@include line
--@include shares
--@include succession

if mine then
    return pass_on(held[3] .. '+', successor or '', ARGV[4] or '', ARGV[5], ARGV[6], ARGV[7])
end
return successor and done_before(successor, ARGV[4], ARGV[5]) or {'GONE'}
