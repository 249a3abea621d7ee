-- Included by the scripts that read locks for a client that uses client-side tracking.
-- A read makes the server track all keys that the script names. The server would track the key of a missing lock until
-- the next use of the key, perhaps for ever. A write after the last read ends the tracking. The server may refuse the write.
local function forget(lock)
    redis.pcall('hset', lock, 'owner', '')
    redis.pcall('del', lock)
end
