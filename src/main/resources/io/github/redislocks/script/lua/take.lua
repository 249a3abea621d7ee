-- Takes a lock that is free and has no waiters, which its fence shows (see line.lua): the usual case, kept short.
-- KEYS     lock, fence
-- ARGV     owner, attempt, lease(ms), notAfter(µs); for an attempt that does not wait 'try', which asks a client
--          that keeps the lock whether a thread holds it, or 'silent'
-- returns  the token, which is the time | OK token 0 now, if the clock was set back | BUSY pttl now | RESIDENT pttl now: a
--          client keeps the lock | LINE now: acquire has to be used | LATE now
local call = redis.call
local time = call('time')
local now = time[1] * 1000000 + time[2]

-- Too late: the caller has given up by now.
if now > tonumber(ARGV[4]) then
    return {'LATE', now}
end

local last = call('get', KEYS[2])
local token = string.format('%.0f', now)
if last and string.byte(last, -1) == 43 then
    -- Compare as text: both have the same number of digits for the next two centuries.
    local ahead = (#last ~= #token + 1 or last >= token) and tonumber(string.sub(last, 1, -2))
    if ahead and ahead >= now then
        token = string.format('%.0f', ahead + 1)
    end
    call('hset', KEYS[1], 'owner', ARGV[1], 'attempt', ARGV[2], 'holds', '1', 'token', token)
    call('pexpire', KEYS[1], ARGV[3])
    -- The first six digits last 10,000 s and the fence ten times as long, so its expiry is rarely written. The digits
    -- of a token in the future do not change.
    call('set', KEYS[2], token, 'keepttl')
    if #ARGV[3] > 7 then
        -- A lease of hours: extend the fence, which has to outlast this lease too.
        call('pexpire', KEYS[2], 100000000 + ARGV[3])
    elseif ahead or string.sub(last, 1, 6) ~= string.sub(token, 1, 6) then
        call('pexpire', KEYS[2], 100000000)
    end
    return ahead and {'OK', tonumber(token), 0, now} or now
end

local owner = call('hget', KEYS[1], 'owner')
if owner and owner ~= ARGV[1] then
    local client = string.match(owner, '^(.*):r%d+$')
    if client then
        if ARGV[5] ~= 'silent' then
            -- Do as recall in hold.lua does, but before the attempt has a place, so that the client learns of the
            -- attempt earlier.
            local try = ARGV[5] and ' try ' .. ARGV[2] .. ' ' .. string.match(ARGV[1], '^(.*):') .. ' ' or ' recall '
            redis.pcall(
                'publish',
                string.match(KEYS[1], '^[^{]*') .. 'mailbox:' .. client,
                call('hget', KEYS[1], 'attempt') .. try .. KEYS[1]
            )
        end
        return {'RESIDENT', call('pttl', KEYS[1]), now}
    end
    if owner == 'readers' then
        return {'LINE', now}
    end
    return {'BUSY', call('pttl', KEYS[1]), now}
end
if last or owner then
    return {'LINE', now}
end
-- There is no fence: the lock was not held for a day.
call('hset', KEYS[1], 'owner', ARGV[1], 'attempt', ARGV[2], 'holds', '1', 'token', token)
call('pexpire', KEYS[1], ARGV[3])
call('set', KEYS[2], token, 'px', #ARGV[3] > 7 and 100000000 + ARGV[3] or 100000000)
return now
