-- Ends several holds that a client keeps, except those with waiters, each as free does.
-- KEYS     lock and fence of each
-- ARGV     for each lock: owner, attempt, the last token that the client gave out, or '' if it is the token of the hold
-- returns  1: all have ended | LINE, then the index of each hold that has not ended, counted from 0: use release
--@include freed
local line = {'LINE'}
for i = 1, #KEYS / 2 do
    if not freed(KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]) then
        line[#line + 1] = i - 1
    end
end
return #line == 1 and 1 or line
