-- Included by the scripts that read locks for a client which the server tells of changes.
-- With any read the server remembers all keys that the script names; one of a lock that is not there it would remember
-- until somebody uses it again, perhaps never. A write behind the last read ends that. It may be refused.
local function forget(lock)
    redis.pcall('hset', lock, 'owner', '')
    redis.pcall('del', lock)
end
