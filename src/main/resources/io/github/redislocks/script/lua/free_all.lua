-- Ends several holds of one owner, except those with waiters, each as free does.
-- KEYS     lock and fence of each
-- ARGV     owner, then the attempt for each lock
-- returns  1: all have ended | LINE, then the index of each hold that has not ended, counted from 0: use release
--@include freed
local line = {'LINE'}
for i = 1, #KEYS / 2 do
    if not freed(KEYS[2 * i - 1], KEYS[2 * i], ARGV[1], ARGV[1 + i], '') then
        line[#line + 1] = i - 1
    end
end
return #line == 1 and 1 or line
