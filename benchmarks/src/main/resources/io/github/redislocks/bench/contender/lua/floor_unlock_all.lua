-- The least that an unlock of several names can be: removes the owner's values and no others.
-- KEYS     locks
-- ARGV     owner
-- returns  1 | 0: one was not there
local all = 1
for _, key in ipairs(KEYS) do
    if redis.call('get', key) == ARGV[1] then
        redis.call('del', key)
    else
        all = 0
    end
end
return all
