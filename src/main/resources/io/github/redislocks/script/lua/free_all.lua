-- Ends those of several holds of one owner behind which nobody waits, each as free does.
-- KEYS     lock and fence of each
-- ARGV     owner, then the attempt for each lock
-- returns  1: all have ended | LINE, then the index of each that has not, counted from 0: release has to be used
local call = redis.call
local line = {'LINE'}
for i = 1, #KEYS / 2 do
    local lock, fence = KEYS[2 * i - 1], KEYS[2 * i]
    local held = call('hmget', lock, 'owner', 'attempt', 'waited', 'token')
    if held[1] ~= ARGV[1] or held[2] ~= ARGV[1 + i] or held[3] then
        line[#line + 1] = i - 1
    else
        call('del', lock)
        if call('append', fence, '+') == 1 then
            call('set', fence, held[4] .. '+', 'px', 100000000)
        end
    end
end
return #line == 1 and 1 or line
