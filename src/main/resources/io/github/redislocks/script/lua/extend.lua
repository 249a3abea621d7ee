-- Included by the scripts that keep a hold alive.
-- A lease only grows: a late request must not shorten a lease that a later request has extended. Each call writes the
-- expiry, so that WAIT confirms that the replicas have the hold. Redis 7.0 and later tell scripts the version, and have
-- one command that raises an expiry and leaves a later expiry unchanged.
local RAISES = redis.REDIS_VERSION_NUM ~= nil

-- Returns whether the key exists.
local function extend(key, lease)
    return RAISES and redis.call('pexpire', key, lease, 'gt') == 1
        or redis.call('pexpire', key, math.max(redis.call('pttl', key), tonumber(lease))) == 1
end
