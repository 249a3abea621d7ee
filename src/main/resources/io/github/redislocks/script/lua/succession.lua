-- Included by the scripts that end a hold: decides who gets the lock next. Needs line.lua and shares.lua. The successor
-- is a waiter of the releasing client's local queue, given as: owner or '', attempt, lease(ms), claim(ms) of the place
-- that the successor takes if others go first, or '', keep (1 | 0: whether the client's local turn goes on)

-- Ends the hold; lets in the shares that wait, else grants the lock to the successor or the first live waiter, else leaves
-- it free. The DEL comes first: at maxmemory Redis refuses HSET and SET only until a script has written something. Returns
-- SUCCEEDED token lost | QUEUED last-token pttl now | GRANTED | FREED crowded(1|0)
local function pass_on(last, successor, attempt, lease, claim, keep)
    redis.call('del', lock)
    local place = successor .. ':' .. attempt
    local reply = readers_turn(last, place, successor ~= '' and tonumber(claim))
    if reply then
        return reply[1] == 'QUEUED' and reply or {'GRANTED'}
    end
    local winner, token, lost
    if successor == '' or keep ~= '1' then
        winner, token, lost = grant(last, place, lease)
    end
    if not winner and successor ~= '' then
        token, lost = mint(last)
        drop(place)
        own(successor, attempt, 1, lease, token, lost)
        winner = place
    end
    if not winner then
        return {'FREED', remember(last)}
    end
    if winner == place then
        return {'SUCCEEDED', token, lost}
    end
    if successor ~= '' and claim ~= '' then
        line_up(place, 1, tonumber(claim))
        return {'QUEUED', token, redis.call('pttl', lock), now}
    end
    return {'GRANTED'}
end

-- If an earlier copy of the script served the successor, repeats its reply and extends the lease; else returns nil.
local function done_before(successor, attempt, lease)
    local held = redis.call('hmget', lock, 'owner', 'attempt', 'token', 'lost')
    if held[1] == successor and held[2] == attempt then
        extend(lock, lease)
        if #lease > 7 then
            -- The successor may have got the lock from the queue, for a claim only, and now gets a lease of hours.
            redis.call('pexpire', fence, memory(lease))
        end
        return {'SUCCEEDED', tonumber(held[3]), held[4] and 1 or 0}
    end
    if look(successor .. ':' .. attempt) then
        return {'QUEUED', last_token(), redis.call('pttl', lock), now}
    end
    return nil
end
