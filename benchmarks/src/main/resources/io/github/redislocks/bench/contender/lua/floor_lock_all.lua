-- The least that a lock of several names can be: a value of its owner's at each, if there is none, for a time.
-- KEYS     locks
-- ARGV     owner, lease(ms)
-- returns  1 | 0: somebody else has one; those before it are taken nevertheless
for _, key in ipairs(KEYS) do
    if not redis.call('set', key, ARGV[1], 'NX', 'PX', ARGV[2]) then
        return 0
    end
end
return 1
