-- Takes several locks that are free and have no waiters, all or none. The fences show that they are free, as for take.
-- KEYS     lock and fence of each
-- ARGV     owner, lease(ms), notAfter(µs), then the attempt for each lock, and 'silent' if the caller does not wait
-- returns  the token of all, which is the time | OK token 0 now, if an earlier copy took them | BUSY index now: another
--          owner has the lock at this index, counted from 0 | LINE now: a lock may have waiters, or clients share or keep
--          some locks (asked to give up what they keep if the caller waits): use acquire for each | LATE now; the last
--          three take none
local call, owner, lease = redis.call, ARGV[1], ARGV[2]
local time = call('time')
local now = time[1] * 1000000 + time[2]

-- Too late: the caller has given up by now.
if now > tonumber(ARGV[3]) then
    return {'LATE', now}
end

local token = string.format('%.0f', now)
local count = #KEYS / 2
local fences, mine, earlier, kept = {}, 0, nil, nil
for i = 1, count do
    local last = call('get', KEYS[2 * i])
    fences[i] = last
    -- Compare as text: see take.
    if not last or string.byte(last, -1) ~= 43 or #last ~= #token + 1 or last >= token then
        local held = call('hmget', KEYS[2 * i - 1], 'owner', 'attempt', 'token')
        if held[1] == owner and held[2] == ARGV[3 + i] then
            mine, earlier = mine + 1, held[3]
        elseif held[1] and held[1] ~= owner then
            local client = string.match(held[1], '^(.*):r%d+$')
            if held[1] == 'readers' then
                return {'LINE', now}
            elseif not client then
                return {'BUSY', i - 1, now}
            end
            kept = kept or {}
            kept[#kept + 1] = {client, held[2] .. ' recall ' .. KEYS[2 * i - 1]}
        elseif held[1] or last then
            return {'LINE', now}
        end
    end
end

if kept then
    if not ARGV[4 + count] then
        -- Do as recall in hold.lua does, for all locks at once.
        for _, of in ipairs(kept) do
            redis.pcall('publish', string.match(KEYS[1], '^[^{]*') .. 'mailbox:' .. of[1], of[2])
        end
    end
    return {'LINE', now}
end

-- An earlier copy of this request took the locks. If some of them were lost since, the reply is not OK.
if mine > 0 and mine < count then
    return {'LINE', now}
end
if mine > 0 then
    return {'OK', tonumber(earlier), 0, now}
end

for i = 1, count do
    local lock, fence, last = KEYS[2 * i - 1], KEYS[2 * i], fences[i]
    call('hset', lock, 'owner', owner, 'attempt', ARGV[3 + i], 'holds', '1', 'token', token)
    call('pexpire', lock, lease)
    if not last then
        call('set', fence, token, 'px', #lease > 7 and 100000000 + lease or 100000000)
    else
        -- The first six digits last 10,000 s and the fence ten times as long, so its expiry is rarely written.
        call('set', fence, token, 'keepttl')
        if #lease > 7 then
            -- A lease of hours: extend the fence, which has to outlast this lease too.
            call('pexpire', fence, 100000000 + lease)
        elseif string.sub(last, 1, 6) ~= string.sub(token, 1, 6) then
            call('pexpire', fence, 100000000)
        end
    end
end
return now
