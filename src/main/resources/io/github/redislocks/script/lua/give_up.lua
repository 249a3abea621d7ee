-- Ends those of several holds that a client keeps behind which nobody waits, each as free does.
-- KEYS     lock and fence of each
-- ARGV     for each lock: owner, attempt, the last token that the client gave out if that is not the hold's, or ''
-- returns  1: all have ended | LINE, then the index of each that has not, counted from 0: release has to be used
--@include freed
local line = {'LINE'}
for i = 1, #KEYS / 2 do
    if not freed(KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]) then
        line[#line + 1] = i - 1
    end
end
return #line == 1 and 1 or line
