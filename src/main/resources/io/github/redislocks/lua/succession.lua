-- Included by the scripts that end a hold: who has the lock next. Needs what line.lua needs, and its functions.
-- The successor is a thread of the releasing client that waits beside the line:
-- owner or '', attempt, lease(ms), claim(ms) of the place it wants if it is not served or '', keep (1 | 0)

-- Ends the hold and gives the lock to the successor, to the first live waiter, or to nobody. The DEL comes first: at
-- maxmemory Redis refuses HSET and SET only as long as a script has not yet written.
-- returns SUCCEEDED token lost | QUEUED last-token pttl now | GRANTED | FREED crowded(1|0)
local function pass_on(last, successor, attempt, lease, claim, keep)
    redis.call('del', lock)
    local winner, token, lost
    if successor == '' or keep ~= '1' then
        winner, token, lost = grant(last, successor, lease)
    end
    if not winner and successor ~= '' then
        token, lost = mint(last)
        drop(successor)
        own(successor, attempt, 1, lease, token, lost)
        winner = successor
    end
    if not winner then
        return {'FREED', remember(last)}
    end
    if winner == successor then
        return {'SUCCEEDED', token, lost}
    end
    if successor ~= '' and claim ~= '' then
        line_up(successor, tonumber(attempt), 1, tonumber(claim))
        return {'QUEUED', token, redis.call('pttl', lock), now}
    end
    return {'GRANTED'}
end
