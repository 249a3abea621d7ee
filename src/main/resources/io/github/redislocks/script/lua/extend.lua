-- Included by the scripts that keep a hold alive.
-- A lease only ever grows: a late request must not shorten a lease that a later request has extended. The expiry is
-- always written, so that the replicas whose confirmation is awaited have the hold, whichever request made it. Since
-- Redis 7.0, which tells scripts its version, one command raises an expiry and leaves a later one as it is.
local RAISES = redis.REDIS_VERSION_NUM ~= nil

-- Returns whether the key is there.
local function extend(key, lease)
    return RAISES and redis.call('pexpire', key, lease, 'gt') == 1
        or redis.call('pexpire', key, math.max(redis.call('pttl', key), tonumber(lease))) == 1
end
